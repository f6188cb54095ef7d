#include "trace/sink.h"

#include "trace/output.h"

const struct sink_format *sink_format_for(const char *path)
{
    if (output_name_ends(path, ".pftrace") || output_name_ends(path, ".pftrace.gz"))
        return &pftrace;
    return &chrome_json;
}

void sink_init(struct sink *sink, const struct sink_format *format, struct buffer *buffer)
{
    *sink = (struct sink){.format = format, .buffer = buffer};
}

void sink_release(struct sink *sink)
{
    if (sink->format && sink->format->release)
        sink->format->release(sink);
}

void sink_piece(struct sink *piece, const struct sink *whole, struct buffer *buffer)
{
    *piece = (struct sink){
        .format = whole->format, .buffer = buffer, .base = whole->base, .any = true, .state = whole->state};
    if (piece->format->piece)
        piece->format->piece(piece);
}
