/*
 * Synchronisation objects of NVTX: a slice for each time that a thread waited for one, a range for each that it was
 * held.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "tool/convert/conversion.h"

/* "holding NAME"; to be freed. NULL after error(). */
static char *name_of(const char *doing, const struct nvtx_resource *object, uint64_t number)
{
    char *text = NULL;
    int length = object && object->length
                     ? asprintf(&text, "%s %.*s", doing, (int)object->length, object->text)
                     : asprintf(&text, "%s synchronisation object %llu", doing, (unsigned long long)number);
    if (length >= 0)
        return text;
    error_no_memory("NVTX synchronisation");
    return NULL;
}

static void describe(struct args *args, const struct process *process, const struct nvtx_resource *object, bool open)
{
    struct nvtx_text domain = {NULL, 0};
    if (object)
        domain = nvtx_domain_name(&process->nvtx, object->domain);
    if (domain.text)
        args_text(args, ARG_DOMAIN, domain.text, domain.length);
    if (open)
        args_add(args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
}

static int emit_wait(struct conversion *conversion, struct process *process, const struct nvtx_wait *wait)
{
    struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, wait->thread);
    const struct nvtx_resource *object = nvtx_resource(&process->nvtx.resources, wait->object);
    char *name = name_of("acquiring", object, wait->object);
    struct args args = {0};
    if (!name || !thread) {
        free(name);
        return name ? 0 : -1;
    }
    describe(&args, process, object, wait->open_at_end);
    if (wait->failed)
        args_add(&args, ARG_FAILED, ARG_TYPE_TRUE);
    struct slice slice = {.category = CATEGORY_USER_ANNOTATION,
                          .name = kept_name(conversion, name),
                          .row = track_row(thread, wait->start, wait->end),
                          .start = wait->start,
                          .end = wait->end,
                          .args = &args};
    conversion->writer.format->slice(&conversion->writer, &slice);
    free(name);
    return 0;
}

static struct row thread_row(struct process *process, uint32_t thread)
{
    const struct track *track = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, thread);
    return track ? (struct row){track->pid, track->tids[0]} : (struct row){process->pid, process->pid};
}

static int emit_hold(struct conversion *conversion, struct process *process, const struct nvtx_hold *hold)
{
    const struct nvtx_resource *object = nvtx_resource(&process->nvtx.resources, hold->object);
    char *name = name_of("holding", object, hold->object);
    struct args args = {0};
    if (!name)
        return -1;
    describe(&args, process, object, hold->open_at_end);
    struct async_slice slice = {.category = CATEGORY_USER_ANNOTATION,
                                .name = kept_name(conversion, name),
                                .begin = thread_row(process, hold->thread),
                                .end_row = thread_row(process, hold->end_thread),
                                .start = hold->start,
                                .end = hold->end,
                                .id = ++conversion->next_async,
                                .args = &args};
    conversion->writer.format->async(&conversion->writer, &slice);
    free(name);
    return 0;
}

int emit_nvtx_syncs(struct conversion *conversion, struct process *process)
{
    const struct nvtx_syncs *syncs = &process->nvtx.syncs;
    for (size_t i = 0; i < syncs->waits.count; i++)
        if (emit_wait(conversion, process, &syncs->waits.items[i]) != 0)
            return -1;
    for (size_t i = 0; i < syncs->holds.count; i++)
        if (emit_hold(conversion, process, &syncs->holds.items[i]) != 0)
            return -1;
    return 0;
}
