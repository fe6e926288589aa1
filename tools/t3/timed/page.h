/* SPDX-License-Identifier: MIT */
/* The page of a model, which tools/paper/paper_model.py makes of the JSON. */
#ifndef T3_TIMED_PAGE_H
#define T3_TIMED_PAGE_H

#include <jansson.h>

/* Before the runs: can the page be made and written? An exit code. */
int timed_page_check(const char *page);
/* Writes the page, and frees the document. An exit code. */
int timed_page_write(const char *page, json_t *root);

#endif /* T3_TIMED_PAGE_H */
