"""All 22 TPC-H and 99 TPC-DS queries over small Delta tables: does planopt capture every one of them?"""
