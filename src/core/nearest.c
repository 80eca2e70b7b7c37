#include "config.h"

#include "core/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/quantile.h"

/* A longer word is no mistyped one. */
#define WORD_MAX 32

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The distance of Damerau and Levenshtein, where no letter is edited twice. */
static unsigned edits(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned d[WORD_MAX + 1][WORD_MAX + 1];

    for (size_t i = 0; i <= a_length; i++) {
        for (size_t k = 0; k <= b_length; k++) {
            const bool same = i > 0 && k > 0 &&
                              tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[k - 1]);

            if (i == 0 || k == 0) {
                d[i][k] = (unsigned)(i + k);
                continue;
            }
            d[i][k] = least(least(d[i - 1][k], d[i][k - 1]) + 1, d[i - 1][k - 1] + !same);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
        }
    }
    return d[a_length][b_length];
}

/* How far a word is from what was typed: letters that are wrong, missing, superfluous or swapped,
   of either case; 1 where one begins with the other. FAR where it is hardly meant. */
#define FAR UINT_MAX
static unsigned distance_to(const char *typed, const char *word)
{
    const size_t length = strlen(typed), other = strlen(word),
                 common = length < other ? length : other;
    unsigned distance;

    if (length == 0 || length > WORD_MAX || other > WORD_MAX)
        return FAR;
    distance = edits(typed, length, word, other);
    if (distance > 1 && common >= 3 && strncasecmp(typed, word, common) == 0)
        return 1;
    return distance < length && distance <= (length < 6 ? 1 : length / 3) ? distance : FAR;
}

void nearest_take(struct nearest *n, const char *typed, const char *word)
{
    const unsigned distance = distance_to(typed, word);

    if (distance < (n->word ? n->distance : FAR))
        *n = (struct nearest){word, distance};
}

bool nearest_number(const char *typed, char suggested[NEAREST_MAX])
{
    static const char letters[] = "kmgt";
    char plain[WORD_MAX + 1], *end;
    const char *letter;
    double x, decimal = 1, binary = 1;
    bool with_i, with_b;
    size_t used = 0;

    for (; *typed && used < WORD_MAX; typed++)
        if (!strchr(" _,'+", *typed))
            plain[used++] = *typed;
    plain[used] = 0;
    if (*typed || !isdigit((unsigned char)*plain))
        return false;
    x = strtod(plain, &end);
    letter = *end ? strchr(letters, tolower((unsigned char)*end)) : NULL;
    end += letter != NULL;
    with_i = tolower((unsigned char)*end) == 'i';
    end += with_i;
    with_b = tolower((unsigned char)*end) == 'b';
    end += with_b;
    for (ptrdiff_t i = 0; letter && i <= letter - letters; i++) {
        decimal *= with_i ? 1024 : 1000;
        binary *= with_b && !with_i ? 1000 : 1024;
    }
    decimal *= x;
    binary *= x;
    if (*end || decimal != floor(decimal) || binary != floor(binary) || binary > 0x1p53)
        return false;
    if (decimal == binary)
        snprintf(suggested, NEAREST_MAX, "%.0f", decimal);
    else
        snprintf(suggested, NEAREST_MAX, "%.0f' or '%.0f", decimal, binary);
    return true;
}

bool nearest_quantile(const char *typed, char suggested[NEAREST_MAX])
{
    const char letter = (char)tolower((unsigned char)*typed);
    const bool named = letter == 'p' || letter == 'q';
    char number[WORD_MAX + 1], *end;
    struct quantile quantile;
    double x;

    if (strlen(typed) > WORD_MAX || !isdigit((unsigned char)typed[named]))
        return false;
    strcpy(number, typed + named);
    if (strchr(number, ','))
        *strchr(number, ',') = '.';
    x = strtod(number, &end);
    if (*end && strcmp(end, "%") != 0 && strcmp(end, "th") != 0 && strcmp(end, "st") != 0)
        return false;
    *end = 0;
    if (letter == 'p' && x > 100)
        snprintf(suggested, NEAREST_MAX, "p100");
    else
        snprintf(suggested, NEAREST_MAX, "%c%s", x < 1 && letter != 'p' ? 'q' : 'p', number);
    return quantile_parse(suggested, strlen(suggested), &quantile);
}
