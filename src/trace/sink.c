/* The table of formats of files: the ending of the name, the sink, and what is done with the bytes on the way. */
#include "trace/sink.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"

static const struct file_format formats[] = {
#define FORMAT(ending, what, ...) {ending, __VA_ARGS__},
    FILE_FORMATS(FORMAT)
#undef FORMAT
};
#define FORMATS (sizeof(formats) / sizeof(*formats))

static const struct file_format other = {"", FILE_EVENTS, PACKING_NONE, &chrome_json};
static const struct file_format other_gzip = {".gz", FILE_EVENTS, PACKING_MEMBERS, &chrome_json};

const struct file_format *file_format_of(const char *path)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (text_ends_with(path, formats[i].ending))
            return &formats[i];
    return text_ends_with(path, other_gzip.ending) ? &other_gzip : &other;
}

bool file_format_is_known(const char *name)
{
    const struct file_format *format = file_format_of(name);
    return format != &other && format != &other_gzip && strlen(name) > strlen(format->ending);
}

const char *file_format_words(char text[FILE_FORMAT_WORDS], bool events_only)
{
    size_t wanted = 0, put = 0, length = 0;
    for (size_t i = 0; i < FORMATS; i++)
        wanted += !events_only || formats[i].content == FILE_EVENTS;
    for (size_t i = 0; i < FORMATS; i++) {
        if (events_only && formats[i].content != FILE_EVENTS)
            continue;
        put++;
        length += (size_t)snprintf(text + length, FILE_FORMAT_WORDS - length, "%s%s", formats[i].ending,
                                   put + 1 < wanted ? ", "
                                   : put < wanted   ? " or "
                                                    : "");
    }
    return text;
}
