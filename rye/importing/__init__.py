"""Reading the locks and manifests of other tools into one form: bytes in, values out, without network or disk
access."""
