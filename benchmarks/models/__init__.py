"""Models that export_models.py writes, by family. Each family lists `MODELS`: Exportable or Derived."""
