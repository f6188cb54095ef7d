#include "tool/report/render.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/sink.h"
#include "base/utf8.h"
#include "tool/report/table.h"

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

static uint32_t code_point(const char *text, size_t size)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)text[0] & masks[size];
    for (size_t i = 1; i < size; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    return code;
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

static bool turns_direction(uint32_t code)
{
    return (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

/* Where a backslash is special, one that we write is escaped as well. */
static void write_escape(struct sink *sink, uint32_t code, const char *special)
{
    sink_text(sink, strchr(special, '\\') ? "\\\\" : "\\");
    switch (code) {
    case '\n': sink_char(sink, 'n'); break;
    case '\r': sink_char(sink, 'r'); break;
    case '\t': sink_char(sink, 't'); break;
    default: sink_format(sink, code > 0xff ? "u%04x" : "x%02x", code);
    }
}

void render_visible(struct sink *sink, const char *text, const char *special)
{
    for (size_t left = strlen(text); left > 0;) {
        size_t size = utf8_size(text, left);
        uint32_t code = size ? code_point(text, size) : 0;
        if (size == 0) {
            sink_text(sink, UTF8_REPLACEMENT);
            size = 1;
        } else if (is_control(code) || turns_direction(code)) {
            write_escape(sink, code, special);
        } else {
            if (code < 0x80 && strchr(special, (int)code))
                sink_char(sink, '\\');
            sink_bytes(sink, text, size);
        }
        text += size;
        left -= size;
    }
}

size_t render_width(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}
