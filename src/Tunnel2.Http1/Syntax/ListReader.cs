namespace Tunnel2.Http1.Syntax;

/// <summary>Reads the elements of a comma-separated value; whitespace around them is removed, empty ones are returned.</summary>
internal ref struct ListReader
{
    private ReadOnlySpan<byte> _rest;
    private bool _more;

    /// <summary>Starts at the first element of <paramref name="value"/>; the empty value has one empty element.</summary>
    public ListReader(ReadOnlySpan<byte> value)
    {
        _rest = value;
        _more = true;
    }

    /// <summary>Returns the next element; false after the last one.</summary>
    public bool TryRead(out ReadOnlySpan<byte> element)
    {
        if (!_more)
        {
            element = default;
            return false;
        }

        int comma = _rest.IndexOf((byte)',');
        _more = comma >= 0;
        element = (_more ? _rest[..comma] : _rest).Trim(" \t"u8);
        _rest = _more ? _rest[(comma + 1)..] : default;
        return true;
    }
}
