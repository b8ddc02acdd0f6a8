"""Read the locks and manifests of other tools into one form. Pure: no network or disk access."""
