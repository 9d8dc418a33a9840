"""Privacy accounting: `exact` gives guarantees, `published` the paper's formulas, which are none."""
