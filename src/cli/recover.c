/* `gputrace recover`: writes the trace of a run whose launcher was killed. Without a directory, lists such runs. */
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/spool/agent_records.h"
#include "trace/spool/cupti.h"
#include "trace/spool/event_record.h"
#include "trace/spool/spool_directory.h"
#include "trace/spool/spool_file.h"
#include "common/log.h"
#include "common/buffer.h"
#include "common/text.h"
#include "cli/options.h"
#include "cli/trace_files.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "trace/meaning/passes/passes.h"
#include "launch/drain.h"
#include "launch/run_directory.h"
#include "launch/launch.h"

/* --- --dump: a spool record by record --- */

#define CUPTI_NAME(number, kind, groups, on, sizes, event, ...) [EVENT_##event] = #event,
#define AGENT_NAME(record, event, ...) [EVENT_##event] = #event,
#define ALSO(...)
static const char *const event_names[EVENT_TYPE_COUNT] = {[EVENT_TYPE_NONE] = "-", CUPTI_KINDS(CUPTI_NAME, ALSO)};
static const char *const agent_names[EVENT_TYPE_COUNT] = {[EVENT_TYPE_NONE] = "-", AGENT_RECORDS(AGENT_NAME, ALSO)};
#undef ALSO
#undef AGENT_NAME
#undef CUPTI_NAME

#define TEXT_MOST 200 /* bytes of a record's text that are printed */

static void put_event(struct buffer *out, const struct event *event, const char *name, uint64_t offset)
{
    buffer_format(out, "    +%-8" PRIu64 " %-16s", offset, name ? name : "?");
    if (event->start || event->end)
        buffer_format(out, " %" PRIu64 "+%" PRId64, event->start, (int64_t)(event->end - event->start));
    if (event->in_flight)
        buffer_text(out, " in flight");
    if (event->thread)
        buffer_format(out, " thread %" PRIu32, event->thread);
    if (event->correlation)
        buffer_format(out, " correlation %" PRIu32, event->correlation);
    if (event_is_gpu_work(event->type))
        buffer_format(out, " device %" PRIu32 " context %" PRIu32 " stream %" PRId32, event->device, event->context,
                      (int32_t)event->stream);
    buffer_text(out, event->text_length > 0 ? " \"" : "");
    for (size_t i = 0; i < event->text_length && i < TEXT_MOST; i++)
        buffer_char(out, event->text[i] >= ' ' && event->text[i] <= '~' ? event->text[i] : '.');
    buffer_text(out, event->text_length > TEXT_MOST ? "\"…\n" : event->text_length > 0 ? "\"\n" : "\n");
}

static void dump_cupti(struct buffer *out, const struct spool_part *part, const uint16_t *sizes,
                       struct spool_scratch *scratch)
{
    struct cupti_walk walk;
    const uint8_t *data = spool_part_data(part, scratch);
    cupti_walk_begin(&walk, part, data, sizes);
    while (cupti_walk_next(&walk)) {
        struct event event = {0};
        if (cupti_kind_decoded(walk.kind))
            cupti_decode(&event, &walk);
        buffer_format(out, "    kind %-3" PRIu32, walk.kind);
        put_event(out, &event, event_names[event.type], (uint64_t)((const uint8_t *)walk.record - data));
    }
    if (walk.damaged)
        buffer_text(out, "    damaged: the rest cannot be read\n");
}

static void dump_agent(struct buffer *out, const struct spool_part *part)
{
    struct agent_walk walk;
    agent_walk_begin(&walk, part);
    while (agent_walk_next(&walk)) {
        struct event event = {0};
        agent_decode(&event, &walk, part->thread);
        buffer_format(out, "    type %-3u", walk.record->type);
        put_event(out, &event, agent_names[event.type], (uint64_t)((const uint8_t *)walk.record - part->data));
    }
    if (walk.damaged)
        buffer_format(out, "    damaged: %" PRIu64 " records cannot be read\n", walk.damaged);
}

static void dump_file(struct buffer *out, const struct spool_file *file, const char *path)
{
    const struct spool_header *header = &file->header;
    uint16_t sizes[SPOOL_CUPTI_KINDS];
    struct spool_scratch scratch = {0};
    cupti_record_sizes(sizes, header);
    buffer_format(out, "%s: pid %" PRIu32 " \"%s\", CUPTI %" PRIu32 ", started %" PRIu64 ", %s\n", path, header->pid,
                  header->program, header->cupti_version, header->started,
                  header->finished ? "ended by itself" : "did not end by itself");
    for (size_t i = 0; i < file->parts.count; i++) {
        const struct spool_part *part = &file->parts.items[i];
        static const char *const states[] = {"ready", "in use", "done", "drained"};
        buffer_format(out, "  chunk %" PRIu64 ": %s, %s, %zu bytes, thread %" PRIu32 "\n", part->sequence,
                      part->type == SPOOL_CUPTI ? "CUPTI's" : "the agent's",
                      part->drained ? "packed" : states[part->state & 3], part->size, part->thread);
        if (part->type == SPOOL_CUPTI)
            dump_cupti(out, part, sizes, &scratch);
        else
            dump_agent(out, part);
    }
    spool_scratch_release(&scratch);
}

/* Prints the spools in the directory PATH to standard output: a line for each process, each chunk and each record. A
 * record's times are those of its own clock, in ns. Returns 0, or -1 after error(). */
static int spool_dump(const char *path)
{
    struct spool_directory spools;
    struct buffer out;
    int status = spool_directory_read(&spools, path);
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(STDOUT_FILENO));
    for (size_t i = 0; i < spools.count && status == 0; i++) {
        const struct spool_place *place = &spools.places[i];
        struct spool_file file;
        int opened = place->ended ? spool_file_open_ended(&file, spools.ended_path, place->ended - 1, NULL)
                                  : spool_file_open(&file, place->path, NULL);
        status = opened < 0 ? -1 : 0;
        if (opened != 0)
            continue;
        dump_file(&out, &file, place->ended ? spools.ended_path : place->path);
        spool_file_close(&file);
    }
    int failure = buffer_finish(&out);
    buffer_release(&out);
    spool_directory_release(&spools);
    return failure ? error("cannot write to standard output: %s", strerror(failure)) : status;
}

/* --- the command --- */

struct recover_options {
    const char *output;       /* NULL: the name in session.json */
    const char *spool_parent; /* directory that is listed; NULL: $TMPDIR or /tmp */
    bool keep, force, dump, quiet, verbose;
};

/* --- the list of earlier runs --- */

struct listing {
    struct buffer out;
    unsigned count;
};

static void list(void *context, const char *path, uint64_t bytes)
{
    struct listing *listing = context;
    struct session_facts facts;
    struct run_directory directory = {.lock = -1};
    snprintf(directory.path, sizeof(directory.path), "%s", path);
    session_read(path, &facts);
    listing->count++;
    buffer_text(&listing->out, path);
    buffer_text(&listing->out, "  ");
    summary_put_size(&listing->out, bytes);
    if (run_directory_writers(&directory) > 0)
        buffer_text(&listing->out, "  still written");
    if (*facts.command) {
        buffer_text(&listing->out, "  ");
        buffer_text(&listing->out, facts.command);
    }
    buffer_char(&listing->out, '\n');
}

static int list_all(const struct recover_options *wanted)
{
    struct listing listing = {0};
    const char *parent = run_directory_parent(wanted->spool_parent);
    buffer_init(&listing.out, buffer_drain_fd, BUFFER_FD(STDOUT_FILENO));
    run_directory_leftovers(parent, list, &listing);
    int failure = buffer_finish(&listing.out);
    buffer_release(&listing.out);
    if (failure)
        return error("cannot write to standard output: %s", strerror(failure));
    if (listing.count == 0)
        notice("no records of earlier runs in '%s'", parent);
    return 0;
}

/* --- the trace of one run --- */

/* Chooses the name of the trace. SAFE: only this user can write to DIRECTORY, so its session.json is trusted. */
static int choose_output(const struct recover_options *wanted, const char *directory, bool safe,
                         struct output_place *place)
{
    struct session_facts facts;
    place->force = wanted->force;
    if (wanted->output) {
        int length = snprintf(place->name, sizeof(place->name), "%s", wanted->output);
        if (length < 0 || (size_t)length >= sizeof(place->name))
            return error("the name of the trace is too long: '-o %s'", wanted->output);
        return output_place_check(place);
    }
    if (!safe)
        return error("others can write to '%s', so the output name in it is ignored: give one with -o FILE", directory);
    session_read(directory, &facts);
    if (!*facts.output)
        return error("'%s' has no output name: give one with -o FILE", directory);
    snprintf(place->name, sizeof(place->name), "%s", facts.output);
    return output_place_check(place);
}

static int recover(const struct recover_options *wanted, const char *path)
{
    static struct run_directory directory;
    static struct output_place place;
    struct convert_summary summary = {0};
    bool held, safe;
    if (run_directory_open(&directory, path, &held, &safe) < 0)
        return -1;
    unsigned writers = run_directory_writers(&directory);
    bool busy = writers > 0 || held; /* the launcher or a process will write more records */
    if (writers > 0)
        warning("%u process%s still write%s into '%s': the trace has only what was recorded so far", writers,
                writers == 1 ? "" : "es", writers == 1 ? "s" : "", directory.path);
    else if (held)
        warning("'%s' is in use by another gputrace: the trace has only what was recorded so far", directory.path);
    if (held && drain_hold(directory.path) != 0)
        warning("'%s' may change while it is read", directory.path);
    int result = choose_output(wanted, directory.path, safe, &place);
    if (result == 0) {
        end_when_asked(NULL, EXIT_FAILURE, RECORDS_STAY, directory.path, shell_word(directory.path));
        struct convert_options options = {.spool_directory = directory.path,
                                          .output = place.name,
                                          .place = output_place_take,
                                          .place_context = &place};
        result = progress_convert_spool(&options, &summary);
        end_at_fault(NULL, NULL, EXIT_FAILURE); /* from here on, the message about remaining records may be wrong */
    }
    if (result < 0) {
        run_directory_release(&directory);
        return error("the records stay in '%s'", directory.path);
    }
    if (busy || wanted->keep) {
        run_directory_release(&directory);
        notice("the spool stays in '%s'", directory.path);
    } else
        run_directory_remove(&directory);
    summary_print(place.name, &summary, &place);
    return 0;
}

/* --- the command --- */

#define FIELD(name) offsetof(struct recover_options, name)

static const struct option_row rows[] = {
    {.word = "output",
     .letter = 'o',
     .argument = "FILE",
     .type = OPTION_TEXT,
     .offset = FIELD(output),
     .help = "write the trace to FILE, not to where the run wanted it;\n.pftrace at its end makes it Perfetto's "
             "format, .gz compresses it"},
    {.word = "force", .offset = FIELD(force), .help = "move a FILE that is not a trace to FILE.old, which it replaces"},
    {.word = "keep", .offset = FIELD(keep), .help = "do not remove the directory afterwards"},
    {.word = "dump", .offset = FIELD(dump), .help = "print what was recorded, record by record, and write no trace"},
    {.word = "spool-dir",
     .argument = "DIR",
     .type = OPTION_TEXT,
     .offset = FIELD(spool_parent),
     .help = "list what is in DIR instead of $TMPDIR or /tmp"},
    OPTION_ROWS_VERBOSITY(recover_options),
    {.word = NULL},
};

static int recover_command(int argc, char **argv)
{
    struct recover_options options = {0};
    int first = options_parse(&command_recover, &options, argc, argv, false);
    if (first < 0)
        return first == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    if (argc - first > 1)
        return error_usage("'recover' takes one directory: '%s' is one too many", argv[first + 1]);
    if (options.output && output_name_check_ending(options.output) < 0)
        return EXIT_USAGE;
    if (first == argc && (options.output || options.keep || options.dump))
        return error_usage("-o, --keep and --dump need a directory: 'gputrace recover' lists them");
    if (options.dump && options.output)
        return error_usage("--dump writes no trace: -o does not go with it");
    options_set_log_level(options.quiet, options.verbose);
    int result = first == argc  ? list_all(&options)
                 : options.dump ? spool_dump(argv[first])
                                : recover(&options, argv[first]);
    return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct command command_recover = {
    .name = "recover",
    .operands = "[DIR]",
    .summary = "Writes the trace of an interrupted run",
    .examples = "  gputrace recover\n"
                "  gputrace recover /tmp/gputrace-x2Vb7Q\n"
                "  gputrace recover --keep -o recovered.pftrace /tmp/gputrace-x2Vb7Q\n",
    .options = rows,
    .run = recover_command,
};
