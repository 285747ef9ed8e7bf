using System.Collections.Immutable;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>The values of settings as the user wrote them, before anything is judged. Immutable.</summary>
internal sealed class AgentOptionsInput
{
    private readonly ImmutableDictionary<string, (string Text, string Origin, bool IsForAll)> _values;

    public AgentOptionsInput()
        : this(ImmutableDictionary<string, (string, string, bool)>.Empty)
    {
    }

    private AgentOptionsInput(ImmutableDictionary<string, (string Text, string Origin, bool IsForAll)> values) => _values = values;

    /// <summary>The value of a flag; null: it was given nowhere.</summary>
    public string? this[string flag] => _values.GetValueOrDefault(flag).Text;

    /// <summary>Whether one of the older form's flags was given: <c>tunnel2 --dev-session-id GUID --backend-port P …</c>.</summary>
    public bool IsOlderForm => AgentSettingTable.All.Any(setting => setting.IsOlderForm && this[setting.Flag] is not null);

    /// <summary>Adds a value, unless there is one already: the first one wins.</summary>
    /// <param name="flag">The flag of the setting.</param>
    /// <param name="text">The value; null: nothing is added.</param>
    /// <param name="origin">What a mistake calls it, such as <c>TUNNEL2_NAME</c> or <c>tunnels.yml:7: name</c>; null: the flag.</param>
    /// <param name="isForAll">Whether it is for all tunnels, of which some may have no use for it.</param>
    public AgentOptionsInput Give(string flag, string? text, string? origin = null, bool isForAll = false) =>
        text is null || _values.ContainsKey(flag) ? this : new AgentOptionsInput(_values.Add(flag, (text, origin ?? flag, isForAll)));

    /// <summary>The same values, as what is for all tunnels.</summary>
    public AgentOptionsInput ForAll() =>
        new(_values.ToImmutableDictionary(static pair => pair.Key, static pair => (pair.Value.Text, pair.Value.Origin, true)));

    /// <summary>Whether a value was given for this tunnel: without an effect on it, it would have none at all.</summary>
    public bool IsMeant(string flag) => _values.TryGetValue(flag, out var value) && !value.IsForAll;

    /// <summary>What a mistake calls a value.</summary>
    public string OriginOf(string flag) => _values.GetValueOrDefault(flag).Origin ?? flag;

    /// <summary>All values with their flags and origins, in the order of the flags. A token is among them.</summary>
    public IEnumerable<(string Flag, string Text, string Origin)> All => _values
        .OrderBy(static pair => pair.Key, StringComparer.Ordinal).Select(static pair => (pair.Key, pair.Value.Text, pair.Value.Origin));

    /// <summary>Hides every value, because one of them is a secret.</summary>
    public override string ToString() => nameof(AgentOptionsInput);
}
