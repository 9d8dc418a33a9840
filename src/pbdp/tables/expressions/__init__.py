"""Conditions and derived columns: a small closed language over one row, compiled by us for every engine.

    tree        what an expression is, its type, and how large its numbers can get
    reading     text to tree: `fare / distance`, `if(age < 18, "minor", "adult")`, `month(day)`
    to_sql      tree to the SQL of an engine
    to_polars   tree to Polars

No text of the user reaches an engine: names are quoted columns, and texts are literals that we write. An
expression looks at one row, has a value for every row, and cannot fail: what has no value is null (division
by zero, a column without one), numbers cannot leave the range of doubles (`tree`), and null follows SQL's
rules: comparisons with it are null, `and`, `or` and `not` are Kleene's, and a condition keeps the rows where
it is true. As a function of the row alone it does not add to what one person can change (`bounded`).
"""
