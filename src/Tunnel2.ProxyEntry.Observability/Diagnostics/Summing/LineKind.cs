namespace Tunnel2.ProxyEntry.Diagnostics.Summing;

/// <summary>Log lines with the same kind are the same for a reader.</summary>
/// <param name="EventId">The event.</param>
/// <param name="Code">The code or reason of its error; for lines of the framework the category.</param>
/// <param name="Name">The tunnel or Host of the line.</param>
internal readonly record struct LineKind(int EventId, string Code, string Name)
{
    /// <summary>The kind of a line, from its values.</summary>
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
