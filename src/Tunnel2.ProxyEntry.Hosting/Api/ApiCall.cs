using System.Globalization;
using Tunnel2.ProxyEntry.Admin;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>A request that was found to be allowed, to have a known path, only known parameters, and a body where one belongs.</summary>
/// <param name="http">The request.</param>
/// <param name="name">What the path has in place of its parameter; empty where it has none.</param>
/// <param name="body">The body, of the operation's type; null for none.</param>
internal sealed class ApiCall(HttpContext http, string name, object? body)
{
    /// <summary>What the path has in place of its parameter.</summary>
    public string Name => name;

    /// <summary>The caller's address, and the node that it asked, where that was another one.</summary>
    public string? From => NodeCaller.Describe(http);

    /// <summary>What the caller has shown to that node; null: it asked this one.</summary>
    public string? Credential => NodeCaller.Of(http)?.Credential;

    /// <summary>Ends when the caller has left.</summary>
    public CancellationToken Left => http.RequestAborted;

    /// <summary>The body.</summary>
    public T BodyAs<T>() => (T)body!;

    /// <summary>A parameter of the query; null where it is missing or empty.</summary>
    public string? Text(string parameter) => http.Request.Query[parameter].ToString() is { Length: > 0 } text ? text : null;

    /// <summary>A number of the query.</summary>
    /// <param name="parameter">Its name.</param>
    /// <param name="usual">What counts where it is missing.</param>
    /// <param name="most">The largest; the smallest is 1.</param>
    /// <param name="number">The number.</param>
    /// <returns>The problem where it is another text; otherwise null.</returns>
    public ApiAnswer? Number(string parameter, int usual, int most, out int number)
    {
        number = usual;
        return Text(parameter) is not { } text
            || (int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out number) && number >= 1 && number <= most)
                ? null
                : ApiAnswer.Problem(
                    StatusCodes.Status400BadRequest,
                    "parameter",
                    FormattableString.Invariant($"'{parameter}' is a number from 1 to {most}."));
    }
}
