"""Conditions and derived columns: a closed part of SQL over one row, written by us for every engine.

    reading     SQL, parsed by sqlglot, to a typed tree; what the tree has no word for is refused
    tree        what an expression is, its type, how large its numbers get, and its canonical text
    to_sql      the tree to the SQL of an engine

No text of the user reaches an engine: names are quoted columns, and texts are literals that we write. An
expression looks at one row, has a value for every row, and cannot fail: what has no value is null, numbers
cannot leave the range of doubles (`tree`), and null follows SQL's rules: comparisons with it are null, `and`,
`or` and `not` are Kleene's, and a condition keeps the rows where it is true. As a function of the row alone
it does not add to what one person can change (`bounded`).

Engines differ, so every operation means one thing:

    numbers      doubles; a column is null where it is NaN or beyond 10^18, and 0 below 10^-18
    /            real division; null by 0
    round(x)     floor(x + 1/2); bin(x, w) is floor(x / w) * w
    mod(x, y)    the remainder with the sign of x, of whole numbers below 2^53; of others null, and null by 0
    ln(x)        null unless x > 0
    least, greatest   of what is not null
    a || b       the first 65,536 characters; so is each of its parts
    lower(x)     A to Z alone
    like         the whole text, case-sensitive; only a character named by `escape` escapes
    week, isodow, date_trunc('week', d)   ISO 8601: weeks begin on Mondays, which are 1
    a - b        of dates: days
"""
