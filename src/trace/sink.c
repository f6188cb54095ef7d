#include "trace/sink.h"

#include "trace/output.h"

const struct writer_format *writer_format_for(const char *path)
{
    if (output_name_ends(path, ".pftrace") || output_name_ends(path, ".pftrace.gz"))
        return &pftrace;
    return &chrome_json;
}

void writer_init(struct writer *writer, const struct writer_format *format, struct buffer *buffer)
{
    *writer = (struct writer){.format = format, .buffer = buffer};
}

void writer_release(struct writer *writer)
{
    if (writer->format && writer->format->release)
        writer->format->release(writer);
}

void writer_piece(struct writer *piece, const struct writer *whole, struct buffer *buffer)
{
    *piece = (struct writer){
        .format = whole->format, .buffer = buffer, .base = whole->base, .any = true, .state = whole->state};
    if (piece->format->piece)
        piece->format->piece(piece);
}
