"""From a directive and input values to the text that a model reads, and which of its hooks fire. Pure: values in, values out."""
