#include "tool/write/writer.h"

void writer_init(struct writer *writer, const struct writer_format *format, struct sink *sink)
{
    *writer = (struct writer){.format = format, .sink = sink};
}
