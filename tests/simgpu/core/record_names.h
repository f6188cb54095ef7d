/*
 * Names as activity records point to them: CUPTI has one copy of each, whosever it is. When all code that has the name
 * is unloaded the copy goes, and what comes there next may be another name.
 */
#ifndef SIMGPU_CORE_RECORD_NAMES_H
#define SIMGPU_CORE_RECORD_NAMES_H

/* The copy of NAME, with one more user. */
const char *record_names_take(const char *name);

/* One user less. The text stays until another name needs the space. */
void record_names_give(const char *copy);

#endif
