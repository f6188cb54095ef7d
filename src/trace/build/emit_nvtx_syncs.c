/*
 * Synchronisation objects of NVTX: a slice for each time that a thread waited for one, a range for each that it was
 * held.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "trace/build/conversion.h"
#include "trace/build/emitter.h"

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

static int emit_wait(struct emitter *emitter, struct process *process, const struct nvtx_wait *wait)
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
                          .name = name_passing(name, strlen(name)),
                          .row = track_row(thread, wait->start, wait->end),
                          .start = wait->start,
                          .end = wait->end,
                          .args = &args};
    emitter->writer.format->slice(&emitter->writer, &slice);
    free(name);
    return 0;
}

static struct row thread_row(struct process *process, uint32_t thread)
{
    const struct track *track = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, thread);
    return track ? (struct row){track->pid, track->tids[0]} : (struct row){process->pid, process->pid};
}

static int emit_hold(struct emitter *emitter, struct process *process, const struct nvtx_hold *hold, uint64_t id)
{
    const struct nvtx_resource *object = nvtx_resource(&process->nvtx.resources, hold->object);
    char *name = name_of("holding", object, hold->object);
    struct args args = {0};
    if (!name)
        return -1;
    describe(&args, process, object, hold->open_at_end);
    struct async_slice slice = {.category = CATEGORY_USER_ANNOTATION,
                                .name = name_passing(name, strlen(name)),
                                .begin = thread_row(process, hold->thread),
                                .end_row = thread_row(process, hold->end_thread),
                                .start = hold->start,
                                .end = hold->end,
                                .id = id,
                                .args = &args};
    emitter->writer.format->async(&emitter->writer, &slice);
    free(name);
    return 0;
}

int emit_nvtx_syncs(struct emitter *emitter, struct process *process)
{
    const struct nvtx_syncs *syncs = &process->nvtx.syncs;
    for (size_t i = 0; i < syncs->waits.count; i++) {
        if (emit_wait(emitter, process, &syncs->waits.items[i]) != 0)
            return -1;
        emitter_passed(emitter, process);
    }
    uint64_t before = process->async_before + process->nvtx.started.count;
    for (size_t i = 0; i < syncs->holds.count; i++) {
        if (emit_hold(emitter, process, &syncs->holds.items[i], before + i + 1) != 0)
            return -1;
        emitter_passed(emitter, process);
    }
    return 0;
}
