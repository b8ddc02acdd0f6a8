"""The registry's pages: what people read before they let text steer their agents. No scripts, nothing from other hosts.

``frame``        what a page is, how it becomes bytes and with which headers; how to add one
``desk``         where pages are made and cached, in a bounded pool of threads
``look``         one transaction's view of the registry, limited to what its reader may see
``addresses``    the paths of pages: writing and parsing
``negotiation``  HTML or JSON
``hidden``       untrusted text as HTML that shows hidden characters
``limits``       the limits of pages
``kept``         a bounded cache
``analysis``     the part of an item's page that depends only on the release's bytes
``analyses``     the file that stores analyses
``analyst``      the thread that fills this file
``errors``       an error as a page
``home``         the home page
"""
