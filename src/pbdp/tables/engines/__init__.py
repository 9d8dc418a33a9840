"""Engines: each runs the one definition in `pbdp.tables.bounded` where the data lives.

    interface     what an engine can do
    sources       which engine serves the data that was given
    sql           the query as SQL, for the engines that speak it
    dialects      what those engines write differently
    duckdb        the engine of this process
    duckdb_scans  where its rows are: files, frames in memory (as Arrow), relations, databases
    files         CSV and Parquet files, and how strictly they are read
    postgres      a PostgreSQL table or view
    spark         a Spark DataFrame

Every one of them is compared with the same plain reference in the tests.
"""
