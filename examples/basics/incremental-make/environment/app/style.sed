# House style: real dashes, and no spaces at the ends of lines.
s/ -- /—/g
s/ *$//
