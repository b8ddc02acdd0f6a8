"""The registry's pages in a real browser: ``make test-browser``. :mod:`tests.browser.chromium` looks for Chromium."""
