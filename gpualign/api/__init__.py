"""The Python API: each command on sequences in memory or in files, with NumPy structured arrays as results.

Positions are 0-based and half-open here (the commands print 1-based, inclusive ones), sequences are known by their
number in the input, and shares are fractions, not percentages. Work goes through the commands' own stages and backends.
"""
