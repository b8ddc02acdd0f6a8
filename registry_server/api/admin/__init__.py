"""The calls below ``/api/v1/admin/``, for operators."""
