"""The registry's pages: what people read before they let text steer their agents. No scripts, nothing from other hosts.

``page_layout``       what a page is, how it becomes bytes and with which headers; how to add one
``page_drafts``       what a page depends on, and how it is made
``page_cache``        where pages are made and cached, in a bounded pool of threads
``page_context``      for which registry, reader and hour a page is made
``registry_view``     one transaction's view of the registry, limited to what its reader may see
``addresses``         the paths of pages: writing and parsing
``negotiation``       HTML or JSON
``escaped_text``      untrusted text as HTML that shows hidden characters
``limits``            the limits of pages
``lru_cache``         a bounded cache
``release_analysis``  the part of an item's page that depends only on the release's bytes
``may_do``            what a release may do and what its texts mention, as rows
``analysis_store``    where analyses are stored
``errors``            an error as a page
``home``              the home page
"""
