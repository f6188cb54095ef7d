/*
 * Reads the blocks of a file, which may be damaged or forged: every number is checked before it is used.
 */
#include "analysis/job/rank_report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/memory.h"
#include "analysis/engine/findings.h"
#include "analysis/ranks/ranks_of_trace.h"

bool rank_report_is(const char *path)
{
    char magic[RANK_REPORT_MAGIC_BYTES];
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) /* a pipe can be read only once */
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is = file >= 0 && file_read_at(file, magic, sizeof(magic), 0) && memcmp(magic, RANK_REPORT_MAGIC, 14) == 0;
    if (file >= 0)
        close(file);
    return is;
}

uint64_t rank_report_sections(void)
{
    uint64_t sections = 0;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++)
        if (section_list[i].section->comparable.noun && i != REPORT_FINDINGS)
            sections |= REPORT_BIT(i);
    return sections;
}

void rank_report_release(struct rank_report *report)
{
    ranks_release(&report->ranks);
    array_release(&report->rows);
    array_release(&report->findings);
    array_release(&report->members);
}

/* --- checks --- */

static bool is_text(const struct rank_report *report, uint32_t text)
{
    return text == EVENT_NO_TEXT || text < report->ranks.texts.count;
}

static bool is_known_text(const struct rank_report *report, uint32_t text)
{
    return text < report->ranks.texts.count;
}

/* Whether a time is absent, or the difference of two such times does not overflow. */
static bool is_time(int64_t time)
{
    return time == FIELD_ABSENT || (time > -EVENT_TIME_LIMIT && time < EVENT_TIME_LIMIT);
}

/* Whether at least 8192 such lengths can be added without overflow. */
static bool is_length(int64_t length)
{
    return length > -EVENT_TIME_LIMIT / 4096 && length < EVENT_TIME_LIMIT / 4096;
}

/* Whether AMOUNT can be summed in rows. */
static bool is_amount(double amount)
{
    return amount > -(double)EVENT_TIME_LIMIT && amount < (double)EVENT_TIME_LIMIT;
}

static bool is_number(int64_t number)
{
    return number == FIELD_ABSENT || (number > -EVENT_NUMBER_LIMIT && number < EVENT_NUMBER_LIMIT);
}

/* Whether it says who waited for whom, which is found when all reports are there. */
static bool waits(const struct rank *rank)
{
    return rank->compared || rank->waited || rank->delayed || rank->late || rank->late_operations || rank->worst;
}

static bool is_rank(const struct rank_report *report, const struct rank *rank)
{
    bool good = is_text(report, rank->host) && is_text(report, rank->between) && rank->rank >= 0 &&
                is_number(rank->rank) && !waits(rank) && is_time(rank->start) && is_time(rank->end) &&
                is_length(rank->steps) && is_length(rank->step_total) && is_length(rank->compute) &&
                is_length(rank->communication) && is_length(rank->exposed) && is_length(rank->copies) &&
                is_length(rank->idle) && is_length(rank->loading) && is_length(rank->neighbours);
    for (unsigned i = 0; i < IDLE_CAUSE_COUNT && good; i++)
        good = is_length(rank->causes[i]) && is_text(report, rank->mostly[i]);
    return good;
}

static bool is_step(const struct rank_report *report, const struct rank_step *step)
{
    for (unsigned i = 0; i < RANK_STEP_CAUSE_COUNT; i++)
        if (!is_length(step->idle[i]))
            return false;
    return rank_step_is_good(step, report->ranks.items.count) && is_time(step->from) && is_time(step->to) &&
           is_length(step->total) && is_length(step->gpu) && step->communication == 0 && step->waited == 0;
}

static bool is_member(const struct rank_report *report, const struct hang_member *member)
{
    return member->rank >= 0 && is_number(member->rank) && is_text(report, member->how) &&
           is_text(report, member->gpu) && is_text(report, member->host) && is_text(report, member->thread) &&
           is_text(report, member->range) && is_text(report, member->place) && is_text(report, member->init) &&
           is_time(member->last) && is_time(member->gpu_since) && is_time(member->gpu_called) &&
           is_time(member->host_since) && is_time(member->init_since);
}

static bool is_report(const struct rank_report *report)
{
    const struct ranks *ranks = &report->ranks;
    bool good = is_known_text(report, report->info.path) && is_known_text(report, report->info.filter) &&
                is_known_text(report, report->info.missing) && is_time(report->info.start) &&
                is_time(report->info.end) && is_time(report->info.base) && is_length(report->info.run) &&
                ranks->items.count > 0;
    for (size_t i = 0; i < ranks->items.count && good; i++)
        good = is_rank(report, &ranks->items.items[i]);
    for (size_t i = 0; i < ranks->names.count && good; i++)
        good = ranks->names.items[i].rank < ranks->items.count && is_known_text(report, ranks->names.items[i].name) &&
               ranks->names.items[i].count > 0 && is_length(ranks->names.items[i].total) &&
               is_length(ranks->names.items[i].count);
    for (size_t i = 0; i < ranks->steps.count && good; i++)
        good = is_step(report, &ranks->steps.items[i]);
    for (size_t i = 0; i < report->rows.count && good; i++)
        good = report->rows.items[i].section < REPORT_SECTION_COUNT &&
               is_known_text(report, report->rows.items[i].name) && is_amount(report->rows.items[i].total) &&
               is_amount(report->rows.items[i].count);
    for (size_t i = 0; i < report->members.count && good; i++)
        good = is_member(report, &report->members.items[i]);
    for (size_t i = 0; i < report->findings.count && good; i++) {
        const struct rank_report_finding *finding = &report->findings.items[i];
        good = finding->rule < FINDING_RULE_COUNT && is_known_text(report, finding->text) &&
               is_known_text(report, finding->advice) && is_known_text(report, finding->where) &&
               (finding->rank == RANK_NONE || finding->rank < ranks->items.count) && is_length(finding->cost) &&
               is_length(finding->gain);
    }
    return good;
}

static bool is_collective(const struct rank_report *report, const struct collective *one)
{
    return is_text(report, one->communicator) && is_text(report, one->group_ranks) && is_text(report, one->name) &&
           is_text(report, one->dtype) && one->kind < COLLECTIVE_KIND_COUNT && is_time(one->called) &&
           is_time(one->returned) && is_time(one->start) && is_time(one->exposed) &&
           (one->start == FIELD_ABSENT ||
            (one->duration >= 0 && is_length(one->duration) && is_time(one->start + one->duration))) &&
           is_number(one->rank) && is_number(one->group_rank) && is_number(one->group_size) &&
           is_number(one->sequence) && is_number(one->bytes) && is_number(one->peer) &&
           (one->process == RANK_NONE || one->process < report->ranks.items.count);
}

/* --- reading --- */

static int error_damaged(const char *name)
{
    return error("'%s' is damaged, or another version of gputrace wrote it: make it again with report --partial", name);
}

/* Reads COUNT records of SIZE bytes at OFFSET to a new array *ITEMS. Returns 0, or -1 after error(). */
static int read_records(const char *name, int file, uint64_t offset, const struct rank_report_head *head, void **items,
                        size_t *count, size_t *capacity)
{
    size_t bytes = (size_t)head->count * head->record;
    void *read = malloc(bytes + 1);
    if (!read)
        return error_no_memory("a part of a job");
    free(*items);
    *items = read;
    *count = *capacity = (size_t)head->count;
    return file_read_at(file, read, bytes, offset) ? 0 : error("cannot read '%s': %s", name, strerror(errno));
}

#define READ_ARRAY(array) \
    read_records(name, report->file, offset, head, (void **)&(array)->items, &(array)->count, &(array)->capacity)

/* The texts get the numbers that they had: each comes once. */
static int read_texts(struct rank_report *report, const char *name, uint64_t offset,
                      const struct rank_report_head *head)
{
    ARRAY(char) bytes = {0};
    int status = READ_ARRAY(&bytes);
    for (size_t at = 0, number = 0; at < bytes.count && status == 0; number++) {
        size_t length = strnlen(bytes.items + at, bytes.count - at);
        uint32_t given = at + length < bytes.count ? intern(&report->ranks.texts, bytes.items + at, length) : 0;
        if (given == INTERN_NO_MEMORY)
            status = error_no_memory("a part of a job");
        else if (given != number || at + length == bytes.count)
            status = error_damaged(name);
        at += length + 1;
    }
    array_release(&bytes);
    return status;
}

static int read_block(struct rank_report *report, const char *name, uint64_t offset,
                      const struct rank_report_head *head)
{
    switch ((enum rank_report_block)head->block) {
    case RANK_REPORT_INFO:
        if (head->count != 1 || !file_read_at(report->file, &report->info, sizeof(report->info), offset))
            return error_damaged(name);
        return 0;
    case RANK_REPORT_RANKS: return READ_ARRAY(&report->ranks.items);
    case RANK_REPORT_NAMES: return READ_ARRAY(&report->ranks.names);
    case RANK_REPORT_STEPS: return READ_ARRAY(&report->ranks.steps);
    case RANK_REPORT_ROWS: return READ_ARRAY(&report->rows);
    case RANK_REPORT_FINDINGS: return READ_ARRAY(&report->findings);
    case RANK_REPORT_MEMBERS: return READ_ARRAY(&report->members);
    case RANK_REPORT_COLLECTIVES:
        report->collectives_offset = offset;
        report->collectives_count = head->count;
        return 0;
    case RANK_REPORT_TEXTS: return read_texts(report, name, offset, head);
    case RANK_REPORT_BLOCK_COUNT: break;
    }
    return error_damaged(name);
}

int rank_report_read(struct rank_report *report, int file, const char *name)
{
    static const size_t records[] = {
#define BLOCK(constant, type) sizeof(type),
        RANK_REPORT_BLOCKS(BLOCK)
#undef BLOCK
    };
    char magic[RANK_REPORT_MAGIC_BYTES];
    struct stat status;
    unsigned seen = 0;
    *report = (struct rank_report){.file = file};
    if (fstat(file, &status) != 0 || !file_read_at(file, magic, sizeof(magic), 0) ||
        memcmp(magic, RANK_REPORT_MAGIC, sizeof(magic)) != 0)
        return error_damaged(name);
    uint64_t size = (uint64_t)status.st_size;
    for (uint64_t at = sizeof(magic); at < size;) {
        struct rank_report_head head;
        if (size - at < sizeof(head) || !file_read_at(file, &head, sizeof(head), at))
            return error_damaged(name);
        at += sizeof(head);
        if (head.block >= RANK_REPORT_BLOCK_COUNT || head.record != records[head.block] || seen >> head.block & 1 ||
            head.count > (size - at) / head.record)
            return error_damaged(name);
        seen |= 1u << head.block;
        if (read_block(report, name, at, &head) < 0)
            return -1;
        at += head.count * head.record;
    }
    return seen == (1u << RANK_REPORT_BLOCK_COUNT) - 1 && is_report(report) ? 0 : error_damaged(name);
}

#define AT_ONCE 1024 /* records */

int rank_report_collectives(const struct rank_report *report, const char *name,
                            int (*each)(void *context, struct collective *one), void *context)
{
    struct collective *some = malloc(AT_ONCE * sizeof(*some));
    int status = some ? 0 : error_no_memory("a part of a job");
    for (uint64_t at = 0; at < report->collectives_count && status == 0; at += AT_ONCE) {
        uint64_t left = report->collectives_count - at;
        size_t count = left < AT_ONCE ? (size_t)left : AT_ONCE;
        if (!file_read_at(report->file, some, count * sizeof(*some), report->collectives_offset + at * sizeof(*some)))
            status = error("cannot read '%s': %s", name, strerror(errno));
        for (size_t i = 0; i < count && status == 0; i++)
            status = is_collective(report, &some[i]) ? each(context, &some[i]) : error_damaged(name);
    }
    free(some);
    return status;
}
