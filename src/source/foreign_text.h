/*
 * Telling text from numbers by the first bytes. Pure.
 */
#ifndef GPUREDUCE_FOREIGN_TEXT_H
#define GPUREDUCE_FOREIGN_TEXT_H

#include "source/foreign_input.h"

/* Whether it is a text of numbers with one of the usual separators between them. */
bool foreign_text_numbers(const struct foreign_input *in);

/* Whether it is JSON: text that begins with a brace or a bracket. */
bool foreign_text_json(const struct foreign_input *in);

/* Whether it is any text, in UTF-8. */
bool foreign_text(const struct foreign_input *in);

#endif
