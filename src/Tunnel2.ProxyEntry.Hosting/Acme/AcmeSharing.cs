using System.Globalization;
using System.Text;
using System.Text.Json;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>
/// The documents of one authority that the nodes of a cluster share: their keys, and what is in them. Private keys are sealed. What comes
/// from the database is checked, because anything could be in it. Thread-safe.
/// </summary>
/// <param name="leases">Who works on what.</param>
/// <param name="secret">Seals private keys.</param>
/// <param name="authority">The id of the authority, as the state folder has it.</param>
internal sealed class AcmeSharing(ISharedLeases leases, SharedSecret secret, string authority)
{
    /// <summary>The maximum number of documents.</summary>
    public const int Most = 30_000;

    /// <summary>The key of the account.</summary>
    public const string Account = "account";

    /// <summary>The key of what limits all names.</summary>
    public const string Limits = "limits";

    private const string CertificateWord = "certificate ";
    private const string FailureWord = "failure ";
    private const string WindowWord = "window ";
    private const int MostOrders = 2000;

    /// <summary>What the database calls them.</summary>
    public string Kind { get; } = "acme-" + authority;

    private string OrderKind => Kind + "-orders";

    /// <summary>The key of a certificate.</summary>
    public static string CertificateOf(string name) => CertificateWord + name;

    /// <summary>The key of what was tried in vain.</summary>
    public static string FailureOf(string name) => FailureWord + name;

    /// <summary>The key of when a certificate is renewed.</summary>
    public static string WindowOf(string name) => WindowWord + name;

    /// <summary>Takes the lease of a name; null: another node works on it.</summary>
    /// <exception cref="SharedUnavailableException">The database is not available.</exception>
    public Task<AcmeLease?> TakeAsync(string name, TimeProvider time, CancellationToken cancellationToken) =>
        AcmeLease.TakeAsync(leases, Kind + "-leases", name, time, cancellationToken);

    /// <summary>Notes where the order of a name is, so that a node that takes it over continues it.</summary>
    /// <exception cref="SharedUnavailableException">The database is not available.</exception>
    public Task NoteOrderAsync(string name, Uri order, CancellationToken cancellationToken) => leases.PlaceAsync(
        OrderKind, name, Encoding.UTF8.GetBytes(order.AbsoluteUri), CertificateOrder.Limit, cancellationToken);

    /// <summary>The order of a name that a node had begun and did not end; null: there is none.</summary>
    /// <exception cref="SharedUnavailableException">The database is not available.</exception>
    public async Task<Uri?> FindOrderAsync(string name, CancellationToken cancellationToken) =>
        await leases.FindAsync(OrderKind, name, cancellationToken).ConfigureAwait(false) is { } order
            ? AcmeJson.TryUrl(Encoding.UTF8.GetString(order))
            : null;

    /// <summary>The order has ended.</summary>
    public async Task ForgetOrderAsync(string name, Uri order)
    {
        try
        {
            await leases.ReleaseAsync(OrderKind, name, Encoding.UTF8.GetBytes(order.AbsoluteUri), CancellationToken.None)
                .ConfigureAwait(false);
        }
        catch (SharedUnavailableException)
        {
            // It ends by itself, and one that has ended is not continued.
        }
    }

    /// <summary>The name of a certificate's key, or null for other keys.</summary>
    public static string? CertificateIn(string key) => NameIn(key, CertificateWord);

    /// <summary>The name of a failure's key, or null for other keys.</summary>
    public static string? FailureIn(string key) => NameIn(key, FailureWord);

    /// <summary>The name of a window's key, or null for other keys.</summary>
    public static string? WindowIn(string key) => NameIn(key, WindowWord);

    /// <summary>A document whose text is sealed.</summary>
    /// <returns>Null: it is too long to be shared.</returns>
    public SharedDocument? Seal(string key, string text)
    {
        var value = secret.Seal(Kind, key, Encoding.UTF8.GetBytes(text));
        return value.Length <= SharedDocument.LongestValue ? new SharedDocument(key, value) : null;
    }

    /// <summary>The text of a sealed document; null: it cannot be opened.</summary>
    public string? Open(SharedDocument document) =>
        secret.Open(Kind, document.Key, document.Value) is { } value ? Encoding.UTF8.GetString(value) : null;

    /// <summary>A document about failures of a name.</summary>
    public static SharedDocument Write(string name, AcmeFailure failure) => Write(FailureOf(name), json =>
    {
        json.WriteNumber("count"u8, failure.Count);
        json.WriteString("nextTry"u8, Text(failure.NextTry));
        json.WriteString("reason"u8, failure.Reason);
    });

    /// <summary>Reads <see cref="Write(string, AcmeFailure)"/>; null: it makes no sense.</summary>
    public static AcmeFailure? ReadFailure(SharedDocument document) => Read(document, static json =>
        json.TryGetProperty("count", out var count) && count.TryGetInt32(out var number) && number > 0
            && Moment(json, "nextTry") is { } nextTry
            ? new AcmeFailure(number, nextTry, AcmeJson.Clean(AcmeJson.Text(json, "reason") ?? ""))
            : null);

    /// <summary>A document about what limits all names.</summary>
    public static SharedDocument Write(AcmePace pace) => Write(Limits, json =>
    {
        json.WriteStartArray("orders"u8);
        foreach (var order in pace.Orders.TakeLast(MostOrders))
        {
            json.WriteNumberValue(order.At.ToUnixTimeMilliseconds());
        }

        json.WriteEndArray();
        json.WriteStartArray("owners"u8);
        foreach (var order in pace.Orders.TakeLast(MostOrders))
        {
            json.WriteStringValue(order.Owner);
        }

        json.WriteEndArray();
        json.WriteString("pausedUntil"u8, Text(pace.PausedUntil));
        json.WriteNumber("serverFailures"u8, pace.ServerFailures);
    });

    /// <summary>Reads <see cref="Write(AcmePace)"/>; null: it makes no sense.</summary>
    public static AcmePace? ReadPace(SharedDocument document) => Read(document, json => new AcmePace(
        ReadOrders(json),
        Moment(json, "pausedUntil") ?? DateTimeOffset.MinValue,
        json.TryGetProperty("serverFailures", out var failures) && failures.TryGetInt32(out var number)
            ? Math.Clamp(number, 0, 100)
            : 0,
        document.Version));

    /// <summary>A document about when a certificate is renewed.</summary>
    public static SharedDocument Write(string name, AcmeWindow window) => Write(WindowOf(name), json =>
    {
        json.WriteString("id"u8, window.Id);
        json.WriteString("renewAt"u8, Text(window.RenewAt));
        json.WriteString("askAt"u8, Text(window.AskAt));
        if (window.Suggested is { } suggested)
        {
            json.WriteString("start"u8, Text(suggested.Start));
            json.WriteString("end"u8, Text(suggested.End));
        }
    });

    /// <summary>Reads <see cref="Write(string, AcmeWindow)"/>; null: it makes no sense.</summary>
    public static AcmeWindow? ReadWindow(SharedDocument document) => Read(document, static json =>
        AcmeJson.Text(json, "id") is { } id && Moment(json, "renewAt") is { } renewAt && Moment(json, "askAt") is { } askAt
            ? new AcmeWindow(
                id, renewAt, askAt,
                Moment(json, "start") is { } start && Moment(json, "end") is { } end ? (start, end) : null)
            : null);

    private static CountedOrder[] ReadOrders(JsonElement json)
    {
        // A release before this one writes moments alone.
        var orders = AcmeJson.List(json, "orders", MostOrders).ToArray();
        var owners = AcmeJson.List(json, "owners", MostOrders).Select(AcmeJson.Text).ToArray();
        return
        [
            .. orders.Select((order, i) => new CountedOrder(
                order.TryGetInt64(out var moment) ? DateTimeOffset.FromUnixTimeMilliseconds(moment) : default,
                owners.Length == orders.Length ? CountedOrder.ReadOwner(owners[i]) : null)),
        ];
    }

    private static SharedDocument Write(string key, Action<Utf8JsonWriter> write) =>
        new(key, Encoding.UTF8.GetBytes(AcmeClient.Json(write)));

    private static T? Read<T>(SharedDocument document, Func<JsonElement, T?> read) where T : class
    {
        try
        {
            using var json = JsonDocument.Parse(document.Value);
            return json.RootElement.ValueKind == JsonValueKind.Object ? read(json.RootElement) : null;
        }
        catch (Exception exception) when (exception is JsonException or InvalidOperationException or ArgumentOutOfRangeException)
        {
            return null;
        }
    }

    private static string? NameIn(string key, string word) =>
        key.StartsWith(word, StringComparison.Ordinal) && AcmeSettings.IsName(key[word.Length..]) ? key[word.Length..] : null;

    private static string Text(DateTimeOffset moment) => moment.ToString("O", CultureInfo.InvariantCulture);

    private static DateTimeOffset? Moment(JsonElement parent, string name) =>
        DateTimeOffset.TryParse(
            AcmeJson.Text(parent, name), CultureInfo.InvariantCulture, DateTimeStyles.RoundtripKind, out var moment)
            ? moment
            : null;
}
