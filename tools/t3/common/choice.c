// SPDX-License-Identifier: MIT
#include <string.h>

#include "common/choice.h"
#include "common/message.h"

bool device_choice_parse(const char *text, struct device_choice *choice)
{
	size_t length;
	uint64_t index;
	char word[4];
	uint32_t i;

	choice->count = 0;
	for (;; text += length + 1) {
		length = strcspn(text, ",");
		if (length >= sizeof(word) || choice->count == DEVICE_CHOICE_MAX)
			return false;
		memcpy(word, text, length);
		word[length] = '\0';
		if (!parse_number(word, UINT8_MAX, &index))
			return false;
		for (i = 0; i < choice->count; i++)
			if (choice->index[i] == index)
				return false;
		choice->index[choice->count++] = (uint32_t)index;
		if (!text[length])
			return choice->count > 1;
	}
}
