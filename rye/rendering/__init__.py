"""Turn a directive and input values into the text that a model reads, and decide which hooks fire. Pure: values in and out."""
