#include "trace/build/piece_writer.h"

void piece_writer_begin(struct piece_writer *out, struct conversion *conversion, struct buffer *buffer)
{
    out->conversion = conversion;
    out->kernels = 0;
    out->part = 0;
    sink_piece(&out->sink, &conversion->sink, buffer);
}

void piece_writer_end(struct piece_writer *out)
{
    sink_release(&out->sink);
    map_release(&out->gpu_ops);
}

void piece_writer_release(struct piece_writer *out)
{
    spool_scratch_release(&out->scratch);
    map_release(&out->gpu_ops);
    *out = (struct piece_writer){0};
}

void piece_writer_passed(struct piece_writer *out, const struct process *process)
{
    uint64_t written = out->sink.buffer->total;
    if (++out->passed < PIECE_WRITER_EVICT_EVENTS && written - out->rested < PIECE_WRITER_EVICT_BYTES)
        return;
    process_evict(process);
    out->passed = 0;
    out->rested = written;
}

void piece_writer_enter_part(struct piece_writer *out, uint32_t part)
{
    out->part = part;
    if (out->gpu_ops.count > 0)
        map_release(&out->gpu_ops);
}
