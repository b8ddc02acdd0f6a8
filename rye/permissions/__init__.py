"""What an action needs, who allows it, how risky it is, and how two sets of capabilities compare. Pure: values in, values out."""
