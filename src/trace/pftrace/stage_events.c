/*
 * GpuRenderStageEvents: the work of GPUs.
 */
#include "trace/pftrace/reader_state.h"

struct stage_event {
    uint64_t id, duration, stage, kernel, delay;
    bool no_correlation;
};

static int take_launch(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                       struct protobuf_reader launch)
{
    struct pftrace_sizes sizes = {0};
    struct protobuf_field field;
    struct pftrace_arg arg;
    while (protobuf_next(&launch, &field)) {
        if (field.number != PB_LAUNCH_ARGS ||
            !pftrace_compute_arg(tables, reader->interning.strings, protobuf_inside(&field), &arg, &sizes))
            continue;
        if (pftrace_push_arg(reader, &arg) != 0)
            return -1;
    }
    return 0;
}

static int read_stage_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                            struct protobuf_reader message, struct stage_event *event)
{
    struct protobuf_field field;
    int result = 0;
    *event = (struct stage_event){0};
    while (result == 0 && protobuf_next(&message, &field)) {
        switch (field.number) {
        case PB_STAGE_EVENT_ID: event->id = field.value; break;
        case PB_STAGE_DURATION: event->duration = field.value; break;
        case PB_STAGE_STAGE_IID: event->stage = field.value; break;
        case PB_STAGE_KERNEL_IID: event->kernel = field.value; break;
        case PB_STAGE_LAUNCH: result = take_launch(reader, tables, protobuf_inside(&field)); break;
        case PFTRACE_OWN_NO_CORRELATION: event->no_correlation = true; break;
        case PFTRACE_OWN_ARROW_DELAY: event->delay = field.value; break;
        default: break;
        }
    }
    return result;
}

/* NULL: there is none. */
static const struct pftrace_kernel *find_shared(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                                                uint64_t kernel)
{
    if (kernel >= tables->kernels.count || tables->kernels.items[kernel].number == 0)
        return NULL;
    const struct pftrace_kernel *shared = &tables->kernels.items[kernel];
    reader->own_correlation |= shared->tells_correlation;
    return shared;
}

int pftrace_stage_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time)
{
    struct pftrace_event *to = &reader->event;
    struct stage_event event;
    struct pftrace_specification none = {PFTRACE_UNKNOWN, PFTRACE_UNKNOWN};
    if (read_stage_event(reader, tables, protobuf_inside(&packet->body), &event) != 0)
        return -1;
    struct pftrace_specification stage = PFTRACE_LOOK_UP(&tables->specifications, event.stage, none);
    uint64_t *arrow = event.id != 0 ? array_push(&reader->arrows) : NULL;
    if (event.id != 0 && !arrow)
        return pftrace_no_memory();
    if (arrow)
        *arrow = event.id;
    to->what = PFTRACE_SLICE;
    to->is_head = true;
    pftrace_set_row(to, tables->uuid);
    pftrace_set_name(reader, stage.name);
    pftrace_set_category(reader, stage.description);
    to->start = time;
    to->end = event.duration < PFTRACE_TIME_MOST ? time + event.duration : time;
    to->arrow_time = event.delay < PFTRACE_TIME_MOST ? time + event.delay : time;
    to->shared = find_shared(reader, tables, event.kernel);
    pftrace_set_correlation(reader, event.no_correlation);
    return 1;
}
