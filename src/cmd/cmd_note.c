/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_note.c - renames, tags and annotates a run. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/table.h"
#include "cmd/cmd.h"
#include "run/run_info.h"
#include "run/run_notes.h"

enum { O_DIR, O_NAME, O_TAG, O_UNTAG, O_TEXT, O_CLEAR };

static const struct opt options[] = {
    [O_DIR] = {OPT_ROW_DIR},
    [O_NAME] = {"name", 0, "NAME", OPT_STRING,
                .help = "Show the run under this name; '' restores the recorded name."},
    [O_TAG] = {"tag", 't', "TAG", OPT_STRING, .repeat = true, .help = "Add a tag."},
    [O_UNTAG] = {"untag", 0, "TAG", OPT_STRING, .repeat = true, .help = "Remove a tag."},
    [O_TEXT] = {"text", 0, "TEXT", OPT_STRING, .help = "Replace the text; '' removes it."},
    [O_CLEAR] = {"clear", 0, NULL, OPT_FLAG, .help = "Remove the name, all tags and the text."},
    {0},
};

/* A tag that is there already stays where it is. */
static int note_change_tags(struct run_notes *n, const struct opt_value *opt, struct arena *a,
                            struct err *e)
{
    const char **tags = arena_array(a, const char *, n->n_tags + opt[O_TAG].n_all + 1);
    for (size_t i = 0; i < n->n_tags; i++)
        tags[i] = n->tags[i];
    n->tags = tags;
    for (size_t i = 0; i < opt[O_UNTAG].n_all; i++) {
        const size_t at = run_notes_find_tag(n, opt[O_UNTAG].all[i]);
        if (at == n->n_tags)
            return err_set(e, ERR_NOT_FOUND, "the run has no tag '%s'", opt[O_UNTAG].all[i]);
        memmove(&tags[at], &tags[at + 1], (--n->n_tags - at) * sizeof *tags);
    }
    for (size_t i = 0; i < opt[O_TAG].n_all; i++)
        if (run_notes_find_tag(n, opt[O_TAG].all[i]) == n->n_tags)
            tags[n->n_tags++] = opt[O_TAG].all[i];
    return 0;
}

static void note_print(const struct run_info *info, const struct run_notes *n, struct arena *a)
{
    printf("name  %s\n", text_safe(a, *n->name ? n->name : info->recorded_name));
    for (size_t i = 0; i < n->n_tags; i++)
        printf("tag   %s\n", text_safe(a, n->tags[i]));
    if (*n->text)
        printf("text  %s\n", text_safe(a, n->text));
}

static int cmd_note_run(const struct cmd_args *a, struct err *e)
{
    char path[PATH_LEN];
    struct run_info info;
    struct run_notes notes = {.name = "", .text = ""};
    const struct opt_value *opt = a->opt;
    const bool change = opt[O_NAME].given || opt[O_TAG].given || opt[O_UNTAG].given ||
                        opt[O_TEXT].given || opt[O_CLEAR].given;
    TRY(run_find(a->dir, a->arg[0], path, e));
    TRY(run_info_read(&info, path, a->arena, e));
    if (!opt[O_CLEAR].given)
        TRY(run_notes_read(&notes, path, a->arena, e));
    if (opt[O_NAME].given)
        notes.name = opt[O_NAME].text;
    if (opt[O_TEXT].given)
        notes.text = opt[O_TEXT].text;
    TRY(note_change_tags(&notes, opt, a->arena, e));
    if (change)
        TRY(run_notes_put(path, &notes, e));
    note_print(&info, &notes, a->arena);
    return EXIT_FINE;
}

static const char *const help[] = {
    "Name, tags and text are stored in notes.json of the run and shown by 'footplate show', the "
    "report and the dashboard. Without options the notes are printed. The folder keeps its name.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate note last --name baseline --tag paper", "Rename the newest run and tag it."},
    {"footplate note last --text 'lr 0.01, no augmentation'", "Describe a run."},
    {0},
};

const struct cmd cmd_note = {
    .name = "note",
    .summary = "rename, tag or annotate a run",
    .args = cmd_arg_run,
    .options = options,
    .help = help,
    .examples = examples,
    .run = cmd_note_run,
};
