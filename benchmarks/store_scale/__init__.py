"""What the commands that read a store cost as it grows: a store made without Spark, and a process per command."""
