"""Columns of values, wherever they come from; what they mean is for those who read them to say.

arrays   in Python: lists, numpy, pandas, polars, Arrow; results go back in the same form
files    in CSV, JSON and Parquet files, block by block, with the place of every row
"""
