namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>Follows the documents of a kind: reads what is different, makes the files the copy, and has the values used.</summary>
/// <param name="kind">The kind.</param>
/// <param name="most">How many are used at most.</param>
/// <param name="folder">Where the files are.</param>
/// <param name="gate">The lock of the values.</param>
/// <param name="values">The values.</param>
/// <param name="logger">Where to log.</param>
internal sealed class SharedValues<T>(string kind, int most, string folder, Lock gate, ISharedValues<T> values, ILogger logger)
    : ISharedContent where T : class
{
    private readonly SortedDictionary<string, SharedValue<T>> _read = new(StringComparer.Ordinal);
    private bool _isFolderBehind = true;

    /// <inheritdoc/>
    public IReadOnlyList<SharedDocument> Own()
    {
        lock (gate)
        {
            return values.Own;
        }
    }

    /// <inheritdoc/>
    public int Follow(SharedChanges changes)
    {
        if (changes.IsEmpty)
        {
            return 0;
        }

        lock (gate)
        {
            var (gone, put) = Read(changes);
            var used = Limited();
            Copy(gone, put, used);
            if (!values.Use(used))
            {
                return 0;
            }
        }

        return values.OnUsed();
    }

    private (List<T> Gone, List<T> Put) Read(SharedChanges changes)
    {
        var (gone, put) = (new List<T>(), new List<T>());
        foreach (var key in changes.Gone)
        {
            Add(gone, _read.GetValueOrDefault(key)?.Value);
            _read.Remove(key);
        }

        foreach (var document in changes.Put)
        {
            var before = _read.GetValueOrDefault(document.Key)?.Value;
            var value = values.Read(document, out var reason);
            _read[document.Key] = new SharedValue<T>(document.Key, value, document.Touched, reason);
            if (value is null)
            {
                Add(gone, before);
            }
            else if (before is null || !values.IsSame(before, value))
            {
                put.Add(value);
            }
        }

        return (gone, put);

        static void Add(List<T> to, T? value)
        {
            if (value is not null)
            {
                to.Add(value);
            }
        }
    }

    private List<SharedValue<T>> Limited()
    {
        var left = most;
        return
        [
            .. _read.Values.Select(one => one.Value is null || left-- > 0
                ? one
                : one with { Value = null, Reason = FormattableString.Invariant($"more than {most} {kind} are not used") }),
        ];
    }

    /// <summary>Makes the folder the copy. Where that fails, the values count all the same, until this process ends.</summary>
    private void Copy(IEnumerable<T> gone, IEnumerable<T> put, List<SharedValue<T>> used)
    {
        try
        {
            // What is there may be this node's own, from before it joined, and what could not be written.
            if (_isFolderBehind || used.Count > most)
            {
                var kept = values.Load();
                var wanted = used.Where(static one => one.Value is not null)
                    .ToDictionary(static one => one.Key, static one => one.Value!, StringComparer.Ordinal);
                gone = kept.Where(one => !wanted.ContainsKey(one.Key)).Select(static one => one.Value);
                put = wanted.Where(one => !kept.TryGetValue(one.Key, out var before) || !values.IsSame(before, one.Value))
                    .Select(static one => one.Value);
            }

            _isFolderBehind = true;
            foreach (var value in gone)
            {
                values.Delete(value);
            }

            foreach (var value in put)
            {
                values.Save(value);
            }

            _isFolderBehind = false;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            SharingLog.SharedCopyNotKept(logger, kind, folder, exception.Message);
        }
    }
}
