/*
 * Writes the JSON of a chapter into memory, and texts as numbers of a list that comes last.
 */
#include "analysis/render/page.h"

#include <errno.h>
#include <string.h>

void page_init(struct page *page)
{
    *page = (struct page){0};
    buffer_init_memory(&page->data);
    json_out_init(&page->json, &page->data, false);
}

void page_text(struct page *page, const char *text)
{
    size_t length = strlen(text), before = page->strings.count;
    if (length > PAGE_NAME_BYTES)
        for (length = PAGE_NAME_BYTES; ((unsigned char)text[length] & 0xc0) == 0x80; length--)
            ;
    uint32_t number = intern(&page->strings, text, length);
    if (number == INTERN_NO_MEMORY)
        page->data.failure = ENOMEM;
    if (page->strings.count > before)
        page->string_bytes += length;
    json_u64(&page->json, number);
}

void page_put_text(struct page *page, const char *key, const char *text)
{
    json_key(&page->json, key);
    page_text(page, text);
}

void page_begin_tables(struct page *page)
{
    if (!page->has_tables)
        json_key_array(&page->json, "tables");
    page->has_tables = true;
}

void page_end(struct page *page, struct buffer *out)
{
    json_key_array(&page->json, "strings");
    for (uint32_t i = 0; i < page->strings.count; i++)
        json_string(&page->json, interned(&page->strings, i));
    json_end(&page->json);
    json_end(&page->json);
    if (page->data.failure)
        out->failure = page->data.failure;
    else {
        /* A "<" in data would end the script element, or begin a comment in it. */
        const char *at = page->data.data, *end = at + page->data.length, *next;
        buffer_text(out, "<script type=\"application/json\" class=\"chapter\">");
        for (; (next = memchr(at, '<', (size_t)(end - at))); at = next + 1) {
            buffer_bytes(out, at, (size_t)(next - at));
            buffer_text(out, "\\u003c");
        }
        buffer_bytes(out, at, (size_t)(end - at));
        buffer_text(out, "</script>\n");
    }
    buffer_release(&page->data);
    interner_release(&page->strings);
}
