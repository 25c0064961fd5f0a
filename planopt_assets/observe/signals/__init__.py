"""What rules look at, read from the plans and metrics of one execution. Pure: no clock is in a signal."""
