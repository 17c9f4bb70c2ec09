// SPDX-License-Identifier: GPL-2.0-or-later
/* Select the cases of a program: implementation of tap-choose.h. */
#include <stdio.h>
#include <stdlib.h>

#include "tap-choose.h"

/*
 * Return the line of a list of names at *@at (NULL: no further line), store the line's length
 * in *@length, and advance *@at to the next line.
 */
static const char *next_line(const char **at, size_t *length)
{
	const char *line = *at;

	if (!line || !*line)
		return NULL;
	*length = strcspn(line, "\n");
	*at = line + *length + (line[*length] == '\n');
	return line;
}

static bool is_name(const struct tap_case *c, const char *line, size_t length)
{
	return strlen(c->name) == length && !memcmp(c->name, line, length);
}

/* Return true if the environment variable @variable names @c. */
static bool is_listed(const struct tap_case *c, const char *variable)
{
	const char *at = getenv(variable), *line;
	size_t length;

	while ((line = next_line(&at, &length)))
		if (is_name(c, line, length))
			return true;
	return false;
}

static bool is_selected(const struct tap_case *c, const char *only)
{
	return *only == '=' ? !strcmp(c->name, only + 1) :
			      strstr(c->name, only) != NULL;
}

bool tap_chosen(const struct tap_case *c, const char *only)
{
	return is_selected(c, only) && !is_listed(c, "VGPU_TEST_LEAVE_OUT") &&
	       !is_listed(c, "VGPU_TEST_DONE");
}

bool tap_any_selected(const struct tap_case *cases, int n, const char *only)
{
	int i;

	for (i = 0; i < n; i++)
		if (is_selected(&cases[i], only))
			return true;
	return false;
}

bool tap_left_out_known(const struct tap_case *cases, int n)
{
	const char *at = getenv("VGPU_TEST_LEAVE_OUT"), *line;
	bool known = true;
	size_t length;
	int i;

	while ((line = next_line(&at, &length))) {
		for (i = 0; i < n && !is_name(&cases[i], line, length); i++)
			;
		if (i < n)
			continue;
		fprintf(stderr, "VGPU_TEST_LEAVE_OUT: no case is called \"%.*s\"\n",
			(int)length, line);
		known = false;
	}
	return known;
}
