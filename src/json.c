#include "json.h"

#include "message.h"

void json_string(FILE *out, const char *string)
{
    const unsigned char *p = (const unsigned char *)string;

    putc('"', out);
    while (*p) {
        size_t length = message_utf8_length(p);

        if (length == 0) {
            fputs("\\ufffd", out);
            length = 1;
        } else if (*p < 0x20 || *p == 0x7f) {
            fprintf(out, "\\u%04x", *p);
        } else {
            if (*p == '"' || *p == '\\')
                putc('\\', out);
            fwrite(p, 1, length, out);
        }
        p += length;
    }
    putc('"', out);
}
