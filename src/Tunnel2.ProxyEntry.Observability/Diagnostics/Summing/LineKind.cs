namespace Tunnel2.ProxyEntry.Diagnostics.Summing;

/// <summary>What makes two log lines the same to whoever reads them.</summary>
/// <param name="EventId">The event.</param>
/// <param name="Code">The code of its error, or its reason; for lines of the framework the category.</param>
/// <param name="Name">The tunnel or Host that it is about.</param>
internal readonly record struct LineKind(int EventId, string Code, string Name)
{
    /// <summary>The kind of a line by what was logged.</summary>
    public static LineKind Of<TState>(int eventId, string category, TState state)
    {
        var code = category;
        var name = "";
        if (state is IReadOnlyList<KeyValuePair<string, object?>> values)
        {
            for (var i = 0; i < values.Count; i++)
            {
                var (key, value) = values[i];
                if (key is "ErrorCode" or "Reason")
                {
                    code = value as string ?? code;
                }
                else if (key == "PublicName")
                {
                    name = value as string ?? name;
                }
            }
        }

        return new LineKind(eventId, code, name);
    }
}
