"""What an action requires, who allows it, how risky it is, and how sets of capabilities compare.

Pure: values in, values out.
"""
