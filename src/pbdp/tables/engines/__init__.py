"""Engines: each runs the one definition in `pbdp.tables.bounded` where the data lives.

interface   what an engine can do
at          which engine serves the data that was given
sql         the query as SQL, for the engines that speak it
duckdb      files, pandas, polars and Arrow tables, DuckDB relations
postgres    a PostgreSQL table or view
spark       a Spark DataFrame
polars      Polars frames, in Polars itself
"""
