/*
 * Sums collective operations by communicator, operation, size and type, and the columns of their table.
 */
#include "analysis/ranks/comm.h"

#include <math.h>
#include <stdbool.h>

#include "analysis/base/cost_sum.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_known.h"
#include "common/array.h"
#include "analysis/comm/collective.h"

void comm_release(struct comm *comm)
{
    dense_map_release(&comm->keys);
    array_release(&comm->rows);
}

bool comm_times(const struct collective *one, int64_t *start, int64_t *duration)
{
    bool call = one->on_host && one->called != FIELD_ABSENT && one->returned != FIELD_ABSENT;
    if (one->start != FIELD_ABSENT) {
        *start = one->start;
        *duration = one->duration;
    } else if (call) {
        *start = one->called;
        *duration = one->returned - one->called;
    }
    return one->start != FIELD_ABSENT || call;
}

int64_t comm_last_start(const struct collective *ranks, size_t count)
{
    int64_t last = FIELD_ABSENT, first_end = INT64_MAX, start, duration;
    size_t timed = 0;
    for (size_t i = 0; i < count; i++) {
        if (!comm_times(&ranks[i], &start, &duration))
            continue;
        last = timed++ == 0 || start > last ? start : last;
        bool all =
            collective_waits_for_all((enum collective_kind)ranks[i].kind) || ranks[i].communicator == EVENT_NO_TEXT;
        if (all && start + duration < first_end)
            first_end = start + duration;
    }
    return timed > 1 && first_end >= last ? last : FIELD_ABSENT;
}

int64_t comm_wait(const struct collective *one, int64_t last)
{
    int64_t start, duration;
    if (last == FIELD_ABSENT || !comm_times(one, &start, &duration) || last <= start)
        return 0;
    return last - start < duration ? last - start : duration;
}

static void add_rank(struct comm_row *row, const struct collective *one, int64_t last)
{
    int64_t start, duration;
    if (row->group_size == FIELD_ABSENT || one->group_size > row->group_size)
        row->group_size = one->group_size;
    if (!comm_times(one, &start, &duration)) {
        row->unfinished++;
        return;
    }
    if (one->joint)
        return;
    bool alone = one->kernel_bytes == FIELD_ABSENT || one->kernel_bus_bytes == FIELD_ABSENT;
    row->timed++;
    row->alone += alone;
    row->shared += alone ? 0 : (double)one->kernel_bytes;
    row->bus += alone ? 0 : (double)one->kernel_bus_bytes;
    sum_add(&row->total, duration);
    if (last != FIELD_ABSENT)
        sum_add(&row->wait, comm_wait(one, last));
    if (one->exposed != FIELD_ABSENT) {
        sum_add(&row->exposed, one->exposed);
        sum_add(&row->shown, duration);
    }
}

int comm_add(struct comm *comm, const struct collective *ranks, size_t count)
{
    const struct collective *one = &ranks[0];
    bool pairs = collective_is_pairwise((enum collective_kind)one->kind);
    struct comm_key key = {.communicator = one->communicator,
                           .ranks = one->group_ranks,
                           .name = one->kind == COLLECTIVE_OTHER ? one->name : EVENT_NO_TEXT,
                           .dtype = one->dtype,
                           .kind = pairs ? COLLECTIVE_SEND : one->kind,
                           .bytes = one->bytes};
    for (size_t i = 1; i < count; i++)
        key.bytes = ranks[i].bytes > key.bytes ? ranks[i].bytes : key.bytes;
    for (size_t i = 0; i < count; i++)
        /* Ranks may have shares of different sizes, and only the root knows their sum. */
        if ((ranks[i].kind == COLLECTIVE_GATHER || ranks[i].kind == COLLECTIVE_SCATTER) &&
            ranks[i].peer != FIELD_ABSENT && ranks[i].group_rank == ranks[i].peer && ranks[i].bytes != FIELD_ABSENT)
            key.bytes = ranks[i].bytes;
    int64_t last = comm_last_start(ranks, count);
    size_t before = comm->rows.count;
    struct comm_row *row = dense_map_item(&comm->keys, &key, &comm->rows);
    if (!row)
        return -1;
    if (comm->rows.count > before)
        *row = (struct comm_row){.wait = FIELD_ABSENT, .group_size = FIELD_ABSENT};
    row->count++;
    row->ranks = (int64_t)count > row->ranks ? (int64_t)count : row->ranks;
    if (last != FIELD_ABSENT && row->wait == FIELD_ABSENT)
        row->wait = 0;
    for (size_t i = 0; i < count; i++)
        add_rank(row, &ranks[i], last);
    return 0;
}

int comm_gather(struct comm *comm, const struct collectives *collectives)
{
    struct collectives_walk walk;
    const struct collective *ranks;
    int status = 0;
    collectives_walk_begin(&walk, &collectives->all);
    for (size_t count; status == 0 && (count = collectives_next(&walk, &ranks)) > 0;)
        status = comm_add(comm, ranks, count);
    return collectives_walk_end(&walk) ?: status;
}

/* --- the table --- */

static struct cell fill_operation(struct report_row *row, const struct column *column)
{
    const struct comm_key *key = row->key;
    if (key->kind == COLLECTIVE_SEND)
        return table_text(row->table, "send/recv");
    return key->kind ? table_text(row->table, collective_words[key->kind])
                     : trace_text_cell(row->trace, row->table, (uint32_t)key->name);
}

static struct cell fill_ranks(struct report_row *row, const struct column *column)
{
    const struct comm_row *item = row->item;
    return cell_integer(item->group_size == FIELD_ABSENT ? item->ranks : item->group_size);
}

/* Fills a cell with the time without the wait, or with the rate in this time in GB/s (bytes per ns), of the algorithm
 * or of the bus. Kernels that do several operations count with the bytes of all of them. */
static struct cell fill_transfer(struct report_row *row, const struct column *column)
{
    const struct comm_key *key = row->key;
    const struct comm_row *item = row->item;
    int64_t transfer = item->total - (item->wait == FIELD_ABSENT ? 0 : item->wait);
    bool bus = column->at == offsetof(struct comm_row, bus);
    double factor = bus ? collective_bus_factor((enum collective_kind)key->kind, item->group_size) : 1;
    double bytes =
        (key->bytes > 0 ? (double)key->bytes * (double)item->alone * factor : 0) + (bus ? item->bus : item->shared);
    if (column->type == TYPE_NS)
        return item->wait == FIELD_ABSENT ? (struct cell){0} : cell_integer(transfer);
    return bytes > 0 && transfer > 0 ? cell_real(bytes / (double)transfer) : (struct cell){0};
}

/* Fills a cell with the exposed time of the kernels for which it is known, or with the share of their time that is not
 * exposed. */
static struct cell fill_exposed(struct report_row *row, const struct column *column)
{
    const struct comm_row *item = row->item;
    if (item->shown <= 0)
        return (struct cell){0};
    return column->type == TYPE_NS ? cell_integer(item->exposed) : cell_share(item->shown - item->exposed, item->shown);
}

const struct column comm_columns[COMM_COLUMNS] = {
    {"total", "Total", TYPE_NS, COLUMN_SUM | COLUMN_APART, fill_number, FROM_ITEM(comm_row, total)},
    {"count", "Count", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(comm_row, count)},
    {"wait", "Waiting", TYPE_NS, COLUMN_SUM | COLUMN_OPTIONAL, fill_number, FROM_ITEM(comm_row, wait)},
    {"transfer", "Transfer", TYPE_NS, COLUMN_SUM | COLUMN_OPTIONAL, .fill = fill_transfer},
    {"exposed", "Exposed", TYPE_NS, COLUMN_SUM | COLUMN_OPTIONAL, .fill = fill_exposed},
    {"overlapped", "Overlapped", TYPE_PERCENT, COLUMN_OPTIONAL, .fill = fill_exposed},
    {"avg", "Avg", TYPE_NS, 0, fill_quotient, FROM_ITEM(comm_row, total), PER_ITEM(comm_row, timed), .importance = 40},
    {"algorithm", "Algorithm", TYPE_RATE, COLUMN_OPTIONAL, .fill = fill_transfer,
     .at = offsetof(struct comm_row, shared), .importance = 35},
    {"bus", "Bus", TYPE_RATE, COLUMN_OPTIONAL, .fill = fill_transfer, .at = offsetof(struct comm_row, bus),
     .importance = 70},
    {"unfinished", "Unfinished", TYPE_COUNT, COLUMN_SUM | COLUMN_BAD | COLUMN_OPTIONAL, fill_some,
     FROM_ITEM(comm_row, unfinished)},
    {"size", "Size", TYPE_BYTES, COLUMN_OPTIONAL, fill_number, FROM_KEY(comm_key, bytes)},
    {"type", "Type", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_KEY(comm_key, dtype)},
    {"ranks", "Ranks", TYPE_NUMBER, 0, .fill = fill_ranks},
    {"communicator", "Communicator", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_KEY(comm_key, communicator)},
    {"operation", "Operation", TYPE_TEXT, 0, .fill = fill_operation},
};

void comm_fill(struct report_row *row, const struct comm *comm)
{
    section_array(row, &comm->keys, &comm->rows);
}

/* --- transfers --- */

void transfers_release(struct transfers *transfers)
{
    dense_map_release(&transfers->keys);
    array_release(&transfers->rows);
    array_release(&transfers->members);
}

int transfers_add(struct transfers *transfers, const struct collective *operation, const uint32_t *index, size_t count,
                  size_t ranks)
{
    int64_t transfer = INT64_MAX, exposed = FIELD_ABSENT, start, duration;
    const struct collective *one = &operation[0];
    bool pair = one->source >= 0;
    struct transfer_key key = {.communicator = one->communicator,
                               .group_ranks = one->group_ranks,
                               .pair = pair ? (uint64_t)(uint32_t)one->source << 32 | (uint32_t)one->target : 0,
                               .kind = pair ? COLLECTIVE_SEND : one->kind,
                               .bytes = one->bytes,
                               .group_size = (int64_t)count};
    for (size_t i = 1; i < count; i++)
        key.bytes = operation[i].bytes > key.bytes ? operation[i].bytes : key.bytes;
    /* Only operations of which all ranks are known, with kernels that do nothing else. The rank that entered last has
     * the shortest time, which is the transfer. */
    bool whole = count > 1 && (pair ? count == 2 : one->group_size == (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        whole &= index[i] < ranks && !operation[i].joint && operation[i].group_call == FIELD_ABSENT &&
                 (pair || operation[i].kind == one->kind);
        bool known = comm_times(&operation[i], &start, &duration);
        transfer = !known ? 0 : duration < transfer ? duration : transfer;
    }
    size_t before = transfers->rows.count;
    if (!whole || transfer <= 0 || key.bytes <= 0)
        return 0;
    struct transfer_row *row = dense_map_item(&transfers->keys, &key, &transfers->rows);
    if (!row)
        return -1;
    if (transfers->rows.count > before) {
        row->first_member = transfers->members.count;
        for (size_t i = 0; i < count; i++)
            if (!ADD(array_push, &transfers->members, index[i]))
                return -1;
        row->member_count = count;
    }
    row->count++;
    row->log_sum += log((double)transfer);
    for (size_t i = 0; i < count; i++)
        exposed = operation[i].exposed > exposed ? operation[i].exposed : exposed;
    sum_add(&row->exposed, exposed == FIELD_ABSENT ? 0 : exposed);
    row->unexposed_count += exposed == FIELD_ABSENT;
    return 0;
}
