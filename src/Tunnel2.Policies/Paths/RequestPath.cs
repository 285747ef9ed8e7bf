using System.Buffers;
using System.Text;

namespace Tunnel2.Policies.Paths;

/// <summary>
/// The ways in which a service may read the path of a request: decoded once or until nothing is left to decode, with or without the
/// parameters of its segments, with slashes merged before or after dots are resolved, as a path or as a URL without its scheme. An ordinary
/// path has one reading. It serves one request at a time, and is reused.
/// </summary>
internal sealed class RequestPath
{
    /// <summary>The longest path that is read, in bytes.</summary>
    public const int MaxLength = 2_048;

    /// <summary>Buffers of this length are kept for the next request.</summary>
    private const int UsualLength = 256;

    /// <summary>How often what was decoded is decoded again.</summary>
    private const int MostRounds = 4;

    /// <summary>How many ways there are to read what is decoded.</summary>
    private const int Ways = 16;

    /// <summary>The maximum number of readings of a path: one for each way, and the decoded path as it is.</summary>
    private const int PathReadings = Ways + 1;

    /// <summary>The maximum number of readings: those of the path, and those of the URL that it looks like.</summary>
    private const int MostReadings = PathReadings + Ways;

    private static readonly SearchValues<byte> _special = SearchValues.Create("%;\\\0"u8);
    private static readonly SearchValues<byte> _endsOrLeftOut = SearchValues.Create("?#\t\n\r"u8);

    private readonly (int Start, int Length)[] _readings = new (int, int)[MostReadings];
    private readonly List<byte[]> _lower = [];
    private byte[] _room = [];
    private byte[] _first = [];
    private byte[] _second = [];
    private int _count;
    private int _used;

    /// <summary>How many readings there are.</summary>
    public int Count => _count;

    /// <summary>Whether the path is too long to be read.</summary>
    public bool IsTooLong { get; private set; }

    /// <summary>A reading: it begins with a slash, and ends with none unless there is nothing else.</summary>
    public ReadOnlySpan<byte> this[int index] => _room.AsSpan(_readings[index].Start, _readings[index].Length);

    /// <summary>Those of the readings that have other letters than ASCII, in lower case.</summary>
    public IReadOnlyList<byte[]> Lower => _lower;

    /// <summary>A text of UTF-8 in lower case. Letters whose upper case is the same are one.</summary>
    public static byte[] LowerOf(ReadOnlySpan<byte> text) =>
        Encoding.UTF8.GetBytes(Encoding.UTF8.GetString(text).ToUpperInvariant().ToLowerInvariant());

    /// <summary>Reads a path.</summary>
    /// <param name="path">The path without the query. That of <c>OPTIONS *</c> counts as the root.</param>
    public void Read(ReadOnlySpan<byte> path)
    {
        _count = 0;
        _used = 0;
        _lower.Clear();
        IsTooLong = path.Length > MaxLength;
        if (IsTooLong)
        {
            return;
        }

        if (path.IsEmpty || path[0] != (byte)'/')
        {
            path = "/"u8;
        }

        if (!path.ContainsAny(_special)
            && path.IndexOf("//"u8) < 0
            && path.IndexOf("/."u8) < 0
            && path.IndexOf("./"u8) < 0
            && path[^1] != (byte)'.')
        {
            Reserve(path.Length);
            Keep(path);
            return;
        }

        Reserve(PathReadings * path.Length);
        ReserveWork(path.Length);
        Keep(_first.AsSpan(0, Decode(path, isWhole: false, keepsSlashes: false)));
        for (var way = 0; way < Ways; way++)
        {
            KeepReading(way, DecodeIn(way, path));
        }

        if (IsReference(Decode(path, isWhole: true, keepsSlashes: false)))
        {
            Reserve(MostReadings * path.Length);
            for (var way = 0; way < Ways; way++)
            {
                KeepReading(way, TakePathOfReference(DecodeIn(way, path)));
            }
        }
    }

    /// <summary>Whether a path begins with a host for a service that parses it as a URL. The readings stay as they are.</summary>
    /// <param name="path">A path of at most <see cref="MaxLength"/> bytes.</param>
    public bool BeginsWithHost(ReadOnlySpan<byte> path)
    {
        ReserveWork(path.Length);
        return _first.AsSpan(0, LeaveOutBreaks(Decode(path, isWhole: true, keepsSlashes: false))).StartsWith("//"u8);
    }

    /// <summary>Gives up large buffers, so that an idle connection does not hold them.</summary>
    public void Release()
    {
        _count = 0;
        _lower.Clear();
        if (_room.Length > UsualLength)
        {
            _room = [];
        }

        if (_first.Length > UsualLength)
        {
            _first = [];
            _second = [];
        }
    }

    private void Reserve(int length)
    {
        if (_room.Length < length)
        {
            Array.Resize(ref _room, length);
        }
    }

    private void ReserveWork(int length)
    {
        if (_first.Length < length)
        {
            _first = new byte[length];
            _second = new byte[length];
        }
    }

    /// <summary>Decodes into the first buffer, in one of the ways.</summary>
    private int DecodeIn(int way, ReadOnlySpan<byte> path) => Decode(path, isWhole: (way & 1) != 0, keepsSlashes: (way & 8) != 0);

    /// <summary>Keeps what the first buffer has, in one of the ways.</summary>
    private void KeepReading(int way, int length)
    {
        var isWhole = (way & 1) != 0;
        var mergesFirst = (way & 2) != 0;
        var hasParameters = (way & 4) != 0;
        if (!hasParameters)
        {
            length = DropParameters(length, isWhole);
        }

        if (mergesFirst)
        {
            length = Merge(length);
        }

        length = ResolveDots(length);
        Keep(_first.AsSpan(0, Merge(length)));
    }

    /// <summary>
    /// Whether what the first buffer has is another path for a service that parses it as a URL: two slashes begin a host, a query or a
    /// fragment that was encoded ends the path, and parsers leave out tabs, ends of lines, and control characters at the end.
    /// </summary>
    private bool IsReference(int length)
    {
        var text = _first.AsSpan(0, length);
        return text.StartsWith("//"u8) || text.ContainsAny(_endsOrLeftOut) || text[^1] <= (byte)' ';
    }

    /// <summary>Leaves the path of such a URL in the first buffer.</summary>
    private int TakePathOfReference(int length)
    {
        while (length > 1 && _first[length - 1] <= (byte)' ')
        {
            length--;
        }

        var text = _first.AsSpan(0, LeaveOutBreaks(length));
        var end = text.IndexOfAny((byte)'?', (byte)'#');
        text = end < 0 ? text : text[..end];
        if (!text.StartsWith("//"u8))
        {
            return text.Length;
        }

        // Browsers' parsers, which node has too, take any number of slashes before the host.
        var host = text.TrimStart((byte)'/');
        var slash = host.IndexOf((byte)'/');
        if (slash < 0)
        {
            return 1;
        }

        var path = host[slash..];
        path.CopyTo(_first);
        return path.Length;
    }

    private int LeaveOutBreaks(int length)
    {
        var written = 0;
        foreach (var value in _first.AsSpan(0, length))
        {
            if (value is not ((byte)'\t' or (byte)'\n' or (byte)'\r'))
            {
                _first[written++] = value;
            }
        }

        return written;
    }

    private void Keep(ReadOnlySpan<byte> reading)
    {
        while (reading.Length > 1 && reading[^1] == (byte)'/')
        {
            reading = reading[..^1];
        }

        for (var i = 0; i < _count; i++)
        {
            if (reading.SequenceEqual(this[i]))
            {
                return;
            }
        }

        reading.CopyTo(_room.AsSpan(_used));
        _readings[_count++] = (_used, reading.Length);
        _used += reading.Length;
        if (!Ascii.IsValid(reading))
        {
            _lower.Add(LowerOf(reading));
        }
    }

    /// <summary>Decodes into the first buffer.</summary>
    /// <param name="path">The path.</param>
    /// <param name="isWhole">
    /// Again and again until nothing changes, with <c>%u0061</c> as IIS and HTTP.sys take it, the long forms that old decoders of UTF-8
    /// take, and up to a NUL, where C ends a text.
    /// </param>
    /// <param name="keepsSlashes">An encoded slash stays encoded: it is data of its segment.</param>
    private int Decode(ReadOnlySpan<byte> path, bool isWhole, bool keepsSlashes)
    {
        path.CopyTo(_first);
        var length = path.Length;
        for (var round = 0; round < (isWhole ? MostRounds : 1); round++)
        {
            var before = length;
            length = DecodeOnce(length, isWhole, keepsSlashes);
            if (length == before)
            {
                break;
            }
        }

        if (isWhole)
        {
            length = ShortenLongForms(length, keepsSlashes);
            var end = _first.AsSpan(0, length).IndexOf((byte)0);
            length = end < 0 ? length : end;
        }

        if (!keepsSlashes)
        {
            _first.AsSpan(0, length).Replace((byte)'\\', (byte)'/');
        }

        return length;
    }

    private int DecodeOnce(int length, bool isWhole, bool keepsSlashes)
    {
        var written = 0;
        for (var i = 0; i < length; i++)
        {
            if (_first[i] == (byte)'%' && isWhole && TryDecodeUnit(i, length, out var rune)
                && !(keepsSlashes && rune.Value is '/' or '\\'))
            {
                // Six bytes become three at most.
                written += rune.EncodeToUtf8(_first.AsSpan(written));
                i += 5;
                continue;
            }

            var value = _first[i];
            if (value == (byte)'%' && i + 2 < length && Hex(_first[i + 1]) is >= 0 and var high && Hex(_first[i + 2]) is >= 0 and var low)
            {
                var decoded = (byte)((high << 4) | low);
                if (!keepsSlashes || decoded is not ((byte)'/' or (byte)'\\'))
                {
                    value = decoded;
                    i += 2;
                }
            }

            _first[written++] = value;
        }

        return written;
    }

    /// <summary>Reads a percent sign, a u and four digits.</summary>
    private bool TryDecodeUnit(int index, int length, out Rune rune)
    {
        rune = default;
        if (index + 5 >= length || _first[index + 1] is not ((byte)'u' or (byte)'U'))
        {
            return false;
        }

        var value = 0;
        foreach (var digit in _first.AsSpan(index + 2, 4))
        {
            if (Hex(digit) is not (>= 0 and var four))
            {
                return false;
            }

            value = (value << 4) | four;
        }

        return Rune.TryCreate(value, out rune);
    }

    /// <summary>Two bytes from C0 or C1 on are no UTF-8, nor three from E0 and 80 or 81 on, but some decoders make ASCII of them.</summary>
    private int ShortenLongForms(int length, bool keepsSlashes)
    {
        var written = 0;
        for (var i = 0; i < length; i++)
        {
            var value = _first[i];
            var high = value is 0xC0 or 0xC1 ? i : value == 0xE0 && i + 1 < length && _first[i + 1] is 0x80 or 0x81 ? i + 1 : -1;
            if (high >= 0 && high + 1 < length && (_first[high + 1] & 0xC0) == 0x80)
            {
                var shortened = (byte)(((_first[high] & 1) << 6) | (_first[high + 1] & 0x3F));
                if (!keepsSlashes || shortened is not ((byte)'/' or (byte)'\\'))
                {
                    value = shortened;
                    i = high + 1;
                }
            }

            _first[written++] = value;
        }

        return written;
    }

    /// <summary>
    /// Drops what follows a semicolon in each segment; where <paramref name="isWhole"/>, dots at its end too, as Windows does, and white
    /// space.
    /// </summary>
    private int DropParameters(int length, bool isWhole)
    {
        var written = 0;
        var start = 0;
        while (start < length)
        {
            var end = _first.AsSpan(start, length - start).IndexOf((byte)'/');
            end = end < 0 ? length : start + end;
            var segment = _first.AsSpan(start, end - start);
            var semicolon = segment.IndexOf((byte)';');
            segment = semicolon < 0 ? segment : segment[..semicolon];
            if (isWhole && !segment.SequenceEqual("."u8) && !segment.SequenceEqual(".."u8))
            {
                segment = segment.TrimEnd(". \t\n\v\f\r"u8);
            }

            segment.CopyTo(_first.AsSpan(written));
            written += segment.Length;
            if (end < length)
            {
                _first[written++] = (byte)'/';
            }

            start = end + 1;
        }

        return written;
    }

    private int Merge(int length)
    {
        var written = 0;
        for (var i = 0; i < length; i++)
        {
            if (_first[i] != (byte)'/' || written == 0 || _first[written - 1] != (byte)'/')
            {
                _first[written++] = _first[i];
            }
        }

        return written;
    }

    /// <summary>Resolves the segments of one and two dots (RFC 3986 section 5.2.4). Empty segments count.</summary>
    private int ResolveDots(int length)
    {
        var path = _first.AsSpan(0, length);
        var written = 0;
        var start = 1;
        while (start <= length)
        {
            var end = path[start..].IndexOf((byte)'/');
            end = end < 0 ? length : start + end;
            var segment = path[start..end];
            if (segment.SequenceEqual(".."u8))
            {
                var parent = _second.AsSpan(0, written).LastIndexOf((byte)'/');
                written = Math.Max(0, parent);
            }
            else if (!segment.SequenceEqual("."u8))
            {
                _second[written++] = (byte)'/';
                segment.CopyTo(_second.AsSpan(written));
                written += segment.Length;
            }

            start = end + 1;
        }

        if (written == 0)
        {
            _second[written++] = (byte)'/';
        }

        _second.AsSpan(0, written).CopyTo(_first);
        return written;
    }

    private static int Hex(byte digit) => digit switch
    {
        >= (byte)'0' and <= (byte)'9' => digit - '0',
        >= (byte)'a' and <= (byte)'f' => digit - 'a' + 10,
        >= (byte)'A' and <= (byte)'F' => digit - 'A' + 10,
        _ => -1,
    };
}
