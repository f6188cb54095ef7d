#include "analysis/render.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/sink.h"
#include "common/utf8.h"
#include "analysis/table.h"

bool render_leaves_out(struct render *render, const struct table *table)
{
    if (table->rows > 0 || render->options->sections != 0)
        return false;
    _Static_assert(sizeof(render->left_out) == sizeof(render->unrecorded), "either list");
    char *list = table->unrecorded ? render->unrecorded : render->left_out;
    size_t length = strlen(list), room = sizeof(render->left_out) - length;
    if (table->unrecorded || !*table->missing)
        snprintf(list + length, room, "%s%s", length ? ", " : "", table->word);
    else
        snprintf(list + length, room, "%s%s (not recorded: %s)", length ? ", " : "", table->word, table->missing);
    return true;
}

void render_left_out(struct render *render)
{
    if (*render->left_out)
        sink_format(render->out, "\nNot in this trace: %s\n", render->left_out);
    if (*render->unrecorded)
        sink_format(render->out, "\nNot recorded (left out by --trace): %s\n", render->unrecorded);
    *render->left_out = *render->unrecorded = '\0';
}

void render_missing(struct render *render, const struct table *table, const char *indent)
{
    if (table->rows == 0 && !table->unrecorded)
        sink_format(render->out, "%snone in this trace\n", indent);
    if (*table->missing)
        sink_format(render->out, "%snot recorded (left out by --trace): %s\n", indent, table->missing);
}

/* Where a backslash is special, one that we write is escaped as well. */
void render_visible(struct sink *sink, const char *text, const char *special)
{
    for (size_t left = strlen(text), size; left > 0; text += size, left -= size) {
        char shown[UTF8_VISIBLE_BYTES];
        size_t length = utf8_visible(shown, text, left, &size);
        bool escaped = *text != '\\' && *shown == '\\';
        if (strchr(special, escaped ? '\\' : *text))
            sink_char(sink, '\\');
        sink_bytes(sink, shown, length);
    }
}

size_t render_width(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}
