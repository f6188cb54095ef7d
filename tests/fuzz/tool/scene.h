/*
 * A trace of two ranks (scene.json) with events of every category that belong together, for targets that change one
 * thing in it after the other. The second trace of the same job has the ranks 2 and 3.
 */
#ifndef GPUTRACE_TESTS_FUZZ_TOOL_SCENE_H
#define GPUTRACE_TESTS_FUZZ_TOOL_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

/* Values for any key, as JSON text; NULL: the key is not there. */
extern const char *const scene_values[];
extern const size_t scene_value_count;

/* The trace, to be freed with cJSON_Delete(). */
struct cJSON *scene_new(void);
/* Adds BY to every rank in the trace. */
void scene_move_ranks(struct cJSON *trace, int by);
/* Writes the trace as the file NAME. Returns its path. */
const char *scene_write(const struct cJSON *trace, const char *name);

/*
 * Changes the trace as a recipe of SIZE bytes says: four bytes for each change, what is changed (enum scene_change),
 * where, the key, and the value. Any bytes are a recipe.
 */
enum scene_change {
    SCENE_ARGUMENT,  /* the argument of this key becomes the value, in all events that WHERE chooses */
    SCENE_ARGUMENTS, /* the same, but each category has a value of its own, counted from the value on */
    SCENE_MEMBER,    /* the member of the events: "ph", "ts" … */
    SCENE_CATEGORY,  /* the category and the phase become the key's, which has the value as its high byte */
    SCENE_TIMES,     /* times are as the key says: all equal, reversed … */
    SCENE_METADATA,  /* the key's value in the metadata, counted through the whole tree */
    SCENE_LEAVES,    /* each value in the metadata that is no object or list, counted from the value on */
    SCENE_CHANGE_COUNT
};
#define SCENE_ALL 255 /* as WHERE: all events; below the number of categories: those of one; else a single event */
#define SCENE_RECIPE_MOST 256
void scene_change(struct cJSON *trace, const uint8_t *recipe, size_t size);

struct report_options;

/* Reports on the files: on all together if they are a job, else on each. Every byte of the report is read. */
void scene_report(const struct report_options *options, const char *const *paths, size_t count);
/* A drain of a buffer that reads every byte. */
int scene_touch(void *context, const char *data, size_t size);

/* How many different keys there are for a kind of change. */
size_t scene_key_count(enum scene_change change);

#endif
