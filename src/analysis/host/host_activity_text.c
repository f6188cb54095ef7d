/* Activities in words: with the line that took longest. */
#include "analysis/base/cost_sum.h"
#include "analysis/host/host_activity.h"

#include "common/buffer.h"
#include "analysis/engine/trace.h"

/* Of an activity: its own frame, or the other thread's. */
struct place_key {
    uint64_t activity; /* its number, doubled; and 1 for the other thread */
    uint64_t frame;
};

static int weigh(struct host_activities *all, uint64_t activity, uint32_t site, int64_t ns)
{
    if (site == EVENT_NO_TEXT || all->sites.sites.items[site].frame == EVENT_NO_TEXT)
        return 0;
    const struct place_key key = {activity, all->sites.sites.items[site].frame};
    struct host_place_time *time = dense_map_item(&all->places, &key, &all->times);
    if (!time)
        return -1;
    sum_add(&time->ns, ns);
    time->site = site;
    return 0;
}

int host_activities_weigh(struct host_activities *all, const struct host_moment *moment, int64_t ns)
{
    uint64_t number = 2 * (uint64_t)moment->activity;
    if (moment->activity == EVENT_NO_TEXT)
        return 0;
    return weigh(all, number, moment->site, ns) ?: weigh(all, number + 1, moment->other_site, ns);
}

/* The place that took longest. NULL: none is known. */
static const struct host_place_time *main_place(const struct host_activities *all, uint64_t activity)
{
    const struct host_place_time *most = NULL;
    for (size_t i = 0; i < all->times.count; i++) {
        const struct place_key *key = dense_map_row(&all->places, i);
        if (key->activity == activity && (!most || all->times.items[i].ns > most->ns))
            most = &all->times.items[i];
    }
    return most;
}

static uint32_t main_frame(const struct host_activities *all, uint64_t activity)
{
    const struct host_place_time *most = main_place(all, activity);
    return most ? all->sites.sites.items[most->site].frame : EVENT_NO_TEXT;
}

static void write_other(struct buffer *out, const struct host_activities *all, const struct host_activity *known,
                        uint32_t frame)
{
    static const char *const before[] = {
        [HOST_HELD] = ", held by ", [HOST_WOKE] = " for ", [HOST_MEANWHILE] = "; meanwhile "};
    buffer_format(out, "%s%s", before[known->relation], interned(&all->sites.words, known->other));
    if (known->other_doing == EVENT_NO_TEXT)
        return;
    enum host_kind kind = (enum host_kind)host_sites_doing(&all->sites, known->other_doing)->kind;
    const char *verb = !host_kind_is_off(kind) ? " ran " : host_kind_is_state(kind) ? " was " : " was in ";
    buffer_text(out, known->relation == HOST_MEANWHILE ? "" : ", which");
    buffer_text(out, verb);
    host_sites_write(out, &all->sites, all->trace, known->other_doing, frame);
}

void host_activity_write(struct buffer *out, const struct host_activities *all, uint32_t activity)
{
    const struct host_activity *known = dense_map_row(&all->known, activity);
    uint64_t number = 2 * (uint64_t)activity;
    host_sites_write(out, &all->sites, all->trace, known->doing, main_frame(all, number));
    if (known->relation != HOST_ALONE)
        write_other(out, all, known, main_frame(all, number + 1));
}

int64_t host_activity_stack(const struct host_activities *all, uint32_t activity)
{
    const struct host_place_time *place = main_place(all, 2 * (uint64_t)activity + 1);
    place = place ? place : main_place(all, 2 * (uint64_t)activity);
    return place ? ((const struct host_site *)dense_map_row(&all->trace->samples.sites, place->site))->stack
                 : FIELD_ABSENT;
}
